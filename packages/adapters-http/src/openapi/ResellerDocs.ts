/**
 * Declares the parts of the OpenAPI document that the reseller routes share: the error body, and the error responses,
 * which are built from the error table.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { internalError, statusOf } from "../http/SurfaceError.ts"
import { documentedRow, type ResellerErrorTag, resellerErrorBody } from "../wire/ResellerErrors.ts"
import { requiresResellerToken } from "./GatewayDocument.ts"

const EXAMPLE_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
const NAME = "ResellerError"

/** Schema of the error body. Every route group adds this schema, so that the OpenAPI document contains it. */
export const ResellerError = Schema.Struct({
  error: Schema.Struct({
    code: Schema.String.annotations({ description: "The machine-readable error code." }),
    message: Schema.String.annotations({ description: "The human-readable message: what went wrong and what to do." }),
    request_id: Schema.String.annotations({ description: "The id of the request, as in `x-request-id`." }),
    details: Schema.optional(
      Schema.Array(
        Schema.Struct({
          path: Schema.String.annotations({
            description: "The path of the invalid member; empty if the whole body is invalid."
          }),
          message: Schema.String.annotations({ description: "The rule that the member violates." })
        })
      ).annotations({ description: "The invalid members; only with `validation_error` and `amount_out_of_range`." })
    )
  })
}).annotations({
  identifier: NAME,
  ...HttpApiSchema.annotations({
    status: statusOf(internalError),
    description: `\`${internalError.code}\`: An unexpected error occurred in the service.`
  })
})

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
    transform: withErrors([...new Set(isPublic ? errors : [...tokenErrors, ...errors])])
  })

const withErrors =
  (tags: ReadonlyArray<ResellerErrorTag>) =>
  (operation: Record<string, unknown>): Record<string, unknown> => ({
    ...operation,
    responses: { ...(operation.responses as Record<string, unknown>), ...errorResponses(tags) }
  })

interface DocumentedResponse {
  readonly description: string
  readonly content: {
    readonly "application/json": { readonly schema: object; readonly examples: Record<string, object> }
  }
}

/** Returns one response for each status. Errors with the same status share one response. */
const errorResponses = (tags: ReadonlyArray<ResellerErrorTag>): Record<string, DocumentedResponse> => {
  const responses: Record<string, DocumentedResponse> = {}
  for (const tag of tags) {
    const { meaning, example } = documentedRow(tag)
    const { status, code, body } = resellerErrorBody(example, EXAMPLE_ID)
    const before = responses[status]
    const line = `\`${code}\`: ${meaning}`
    responses[status] = {
      description: before === undefined ? line : `${before.description}\n\n${line}`,
      content: {
        "application/json": {
          schema: { $ref: `#/components/schemas/${NAME}` },
          examples: { ...before?.content["application/json"].examples, [code]: { summary: meaning, value: body } }
        }
      }
    }
  }
  return responses
}
