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

interface Retryable {
  readonly retryAfterSeconds: number
}

/** Returns at least 1 second, because clients retry immediately if the header is 0. */
const secondsOf = ({ retryAfterSeconds }: Retryable): number => Math.max(1, Math.ceil(retryAfterSeconds) || 1)

/** Returns the header for the client. */
export const retryAfter = (error: Retryable): Record<string, string> => ({ "retry-after": String(secondsOf(error)) })

/** Returns a sentence with the seconds of the header, because an error event of a stream has no header. */
export const tryAgain = (error: Retryable): string => `Try again in ${secondsText(secondsOf(error))}.`

/** Returns a number of seconds as text. */
export const secondsText = (seconds: number): string => (seconds === 1 ? "1 second" : `${seconds} seconds`)
