/**
 * The `retry-after` header: read from a provider's refusal, and written to a client's.
 */

export const DEFAULT_RETRY_SECONDS = 5
const MAX_RETRY_SECONDS = 60

/** Only seconds are understood, not dates. At least 1, because clients retry at once on 0. */
export const parseRetryAfter = (header: string | undefined): number => {
  const seconds = header !== undefined && /^\s*\d{1,9}(?:\.\d{1,9})?\s*$/.test(header) ? Math.ceil(Number(header)) : 0
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_SECONDS) : DEFAULT_RETRY_SECONDS
}

/** The header of a refusal. At least 1, because clients retry at once on 0. */
export const retryAfter = ({ retryAfterSeconds }: { readonly retryAfterSeconds: number }): Record<string, string> => ({
  "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds) || 1))
})
