/**
 * Declares the parts of the OpenAPI document that the reseller routes share: the error responses, which are built from
 * the error table.
 */
import * as OpenApi from "@effect/platform/OpenApi"
import { documentedError, type ResellerErrorTag } from "../wire/ResellerErrors.ts"
import { PlainError, withErrors } from "./ErrorDocs.ts"
import { requiresResellerToken } from "./GatewayDocument.ts"

/** Schema of the errors of a group of reseller routes. */
export const ResellerError = PlainError

export interface RouteDocs {
  readonly summary: string
  readonly description?: string
  /** True if the route needs no token. */
  readonly public?: true
  readonly errors: ReadonlyArray<ResellerErrorTag>
}

/** The errors of every route that needs a token. */
const tokenErrors: ReadonlyArray<ResellerErrorTag> = ["InvalidCredentials", "Overloaded"]
/** The errors of every route that reads a body. */
export const bodyErrors: ReadonlyArray<ResellerErrorTag> = ["ValidationFailed", "RequestTooLarge", "Overloaded"]

export const documented = ({ summary, description, public: isPublic, errors }: RouteDocs) =>
  OpenApi.annotations({
    summary,
    ...(description === undefined ? {} : { description }),
    ...(isPublic ? {} : { override: requiresResellerToken }),
    transform: withErrors([...new Set(isPublic ? errors : [...tokenErrors, ...errors])].map(documentedError))
  })
