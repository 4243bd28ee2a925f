/**
 * Declares reseller routes in the OpenAPI document: the summary, the description, whether the route needs a reseller
 * token, and the error responses. The responses are built from the error table in `wire/ResellerErrors.ts`.
 */
import * as OpenApi from "@effect/platform/OpenApi"
import { documentedError, type ResellerErrorTag } from "../wire/ResellerErrors.ts"
import { PlainError, withErrors } from "./ErrorDocs.ts"
import { requiresResellerToken } from "./GatewayDocument.ts"

/** Schema of the error bodies. Each group of reseller routes declares it. */
export const ResellerError = PlainError

export interface RouteDocs {
  readonly summary: string
  readonly description?: string
  /** True if the route needs no reseller token. */
  readonly public?: true
  /** The errors that {@link documented} does not add. */
  readonly errors: ReadonlyArray<ResellerErrorTag>
}

/** The errors that {@link documented} adds to every route that needs a reseller token. */
const tokenErrors: ReadonlyArray<ResellerErrorTag> = ["InvalidCredentials", "Overloaded"]
/** The errors that a route must list in {@link RouteDocs.errors} if it reads a body. */
export const bodyErrors: ReadonlyArray<ResellerErrorTag> = ["ValidationFailed", "RequestTooLarge", "Overloaded"]

export const documented = ({ summary, description, public: isPublic, errors }: RouteDocs) =>
  OpenApi.annotations({
    summary,
    ...(description === undefined ? {} : { description }),
    ...(isPublic ? {} : { override: requiresResellerToken }),
    transform: withErrors([...new Set(isPublic ? errors : [...tokenErrors, ...errors])].map(documentedError))
  })
