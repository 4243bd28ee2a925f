/**
 * Declares the routes of the operator API in the OpenAPI document: the summary, the description, whether the route
 * needs the token of an operator session, and the error responses. The error responses are built from the error table
 * in `wire/OperatorErrors.ts`.
 */
import * as OpenApi from "@effect/platform/OpenApi"
import { documentedError, type OperatorErrorTag } from "../wire/OperatorErrors.ts"
import { PlainError, withErrors } from "./ErrorDocs.ts"
import { requiresOperatorToken } from "./GatewayDocument.ts"

/** Schema of the error bodies. Each group of operator routes declares it. */
export const OperatorError = PlainError

export interface RouteDocs {
  readonly summary: string
  readonly description?: string
  /** True if the route needs no operator session. */
  readonly public?: true
  /** The errors that {@link documented} does not add. */
  readonly errors: ReadonlyArray<OperatorErrorTag>
}

/** The errors that {@link documented} adds to every route. */
const anyErrors: ReadonlyArray<OperatorErrorTag> = ["OperatorConsoleOff", "RateLimited", "Overloaded"]
/** The errors that a route must list in {@link RouteDocs.errors} if it reads a body. */
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
