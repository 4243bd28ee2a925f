/**
 * Reads the `retry-after` header of a provider's refusal, and builds the `retry-after` header of a refusal that the
 * client gets.
 */

export const DEFAULT_RETRY_SECONDS = 5
const MAX_RETRY_SECONDS = 60

/**
 * Returns the seconds in a provider's header, limited to the range 1 to 60. Returns the default if the header is
 * missing, is zero, has more than nine digits, or is not a positive number, for example a date.
 */
export const parseRetryAfter = (header: string | undefined): number => {
  const seconds = header !== undefined && /^\s*\d{1,9}(?:\.\d{1,9})?\s*$/.test(header) ? Math.ceil(Number(header)) : 0
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_SECONDS) : DEFAULT_RETRY_SECONDS
}

/** Returns the header for the client. Its value is at least 1 second, because clients retry immediately if it is 0. */
export const retryAfter = ({ retryAfterSeconds }: { readonly retryAfterSeconds: number }): Record<string, string> => ({
  "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds) || 1))
})

/** Returns a number of seconds as text. */
export const secondsText = (seconds: number): string => (seconds === 1 ? "1 second" : `${seconds} seconds`)
