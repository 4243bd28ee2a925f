/**
 * Defines the rows that the error tables of the reseller routes and of the operator API share.
 */
import { Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import type { FieldIssue } from "@tollgate/domain/validation/Validation"
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import type { ErrorRow } from "./ErrorRow.ts"
import { retryAfter, tryAgain } from "./RetryAfter.ts"

/**
 * Returns an issue as a text. The message of an issue has one of three forms: an accepted value, such as `a whole
 * number`; a phrase that begins with `is`, `must` or `has`, such as `is missing`; or a phrase that begins with `no` or
 * `not`.
 */
export const issueText = ({ message, path }: FieldIssue): string => {
  if (/^(is|must|has) /.test(message)) return `${path} ${message}`
  return /^(no|not) /.test(message) ? `${path}: ${message}` : `${path} must be ${message}`
}

export const validationFailed = (example: FieldIssue): ErrorRow<ValidationFailed> => ({
  status: 422,
  code: "validation_error",
  message: ({ details: [first] }) =>
    first === undefined || first.path === ""
      ? `The request is malformed: ${first?.message ?? "it cannot be read"}.`
      : `${issueText(first)}.`,
  details: ({ details }) => details,
  meaning: "Members are missing, malformed or contradictory; `details` has one entry for each invalid member.",
  example: new ValidationFailed({ details: [example] })
})

export const requestTooLarge = (meaning: string): ErrorRow<RequestTooLarge> => ({
  status: 413,
  code: "request_too_large",
  message: ({ limitBytes }) => `The request body is larger than ${limitBytes} bytes. Send a smaller body.`,
  meaning,
  example: new RequestTooLarge({ limitBytes: 65_536 })
})

export const overloaded: ErrorRow<Overloaded> = {
  status: 503,
  code: "overloaded",
  message: (error) => `The service cannot process the request now. ${tryAgain(error)}`,
  headers: retryAfter,
  meaning:
    "The service is at capacity or shutting down, the caller has used up its share, or the database is unavailable; see `retry-after`.",
  example: new Overloaded({ retryAfterSeconds: 1 })
}

/** The header of a response to a request without valid credentials. */
export const bearerChallenge = () => ({ "www-authenticate": "Bearer" })
