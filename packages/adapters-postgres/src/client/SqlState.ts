/**
 * The five-character code by which Postgres says what went wrong.
 */

/** Of an error of the driver, or of the client around it; `undefined` when the database did not get to answer. */
export const sqlState = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  if ("code" in error && typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code)) return error.code
  return "cause" in error ? sqlState(error.cause) : undefined
}

/** The transaction lost against another one and may win when repeated: serialization failure, deadlock. */
export const isRepeatable = (error: unknown): boolean => {
  const state = sqlState(error)
  return state === "40001" || state === "40P01"
}
