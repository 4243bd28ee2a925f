/**
 * Declares the parts of the OpenAPI document that the routes of the operator API share: the error responses, which
 * are built from the error table.
 */
import * as OpenApi from "@effect/platform/OpenApi"
import { documentedError, type OperatorErrorTag } from "../wire/OperatorErrors.ts"
import { PlainError, withErrors } from "./ErrorDocs.ts"
import { requiresOperatorToken } from "./GatewayDocument.ts"

/** Schema of the errors of a group of operator routes. */
export const OperatorError = PlainError

export interface RouteDocs {
  readonly summary: string
  readonly description?: string
  /** True if the route needs no token. */
  readonly public?: true
  readonly errors: ReadonlyArray<OperatorErrorTag>
}

const anyErrors: ReadonlyArray<OperatorErrorTag> = ["OperatorConsoleOff", "RateLimited", "Overloaded"]
/** The errors of every route that reads a body. */
export const bodyErrors: ReadonlyArray<OperatorErrorTag> = ["ValidationFailed", "RequestTooLarge"]

export const documented = ({ summary, description, public: isPublic, errors }: RouteDocs) => {
  const tags: ReadonlyArray<OperatorErrorTag> = [
    ...anyErrors,
    ...(isPublic ? [] : (["InvalidOperatorSession"] as const)),
    ...errors
  ]
  return OpenApi.annotations({
    summary,
    ...(description === undefined ? {} : { description }),
    ...(isPublic ? {} : { override: requiresOperatorToken }),
    transform: withErrors(tags.map(documentedError))
  })
}
