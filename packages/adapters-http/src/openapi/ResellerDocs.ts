/**
 * OpenAPI declarations shared by the reseller routes: their error body and, from the error table, each error response.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { internalError, statusOf } from "../http/SurfaceError.ts"
import { documentedRow, type ResellerErrorTag, resellerErrorBody } from "../wire/ResellerErrors.ts"
import { requiresResellerToken } from "./GatewayDocument.ts"

const EXAMPLE_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
const NAME = "ResellerError"

/** Added to every group: it registers the error body among the schemas. */
export const ResellerError = Schema.Struct({
  error: Schema.Struct({
    code: Schema.String.annotations({ description: "What went wrong; for programs." }),
    message: Schema.String.annotations({ description: "What went wrong, and what to do; for people." }),
    request_id: Schema.String.annotations({ description: "The id of the request, as in `x-request-id`." }),
    details: Schema.optional(
      Schema.Array(
        Schema.Struct({
          path: Schema.String.annotations({ description: "The invalid member; empty for the whole body." }),
          message: Schema.String.annotations({ description: "The rule that the member breaks." })
        })
      ).annotations({ description: "Only with `validation_error` and `amount_out_of_range`." })
    )
  })
}).annotations({
  identifier: NAME,
  ...HttpApiSchema.annotations({
    status: statusOf(internalError),
    description: `\`${internalError.code}\`: An unexpected error of the service.`
  })
})

export interface RouteDocs {
  readonly summary: string
  readonly description?: string
  /** The route needs no token. */
  readonly public?: true
  readonly errors: ReadonlyArray<ResellerErrorTag>
}

/** The errors of every route that needs a token. */
const tokenErrors: ReadonlyArray<ResellerErrorTag> = ["InvalidCredentials"]
/** The errors of every route that reads a body. */
export const bodyErrors: ReadonlyArray<ResellerErrorTag> = ["ValidationFailed", "RequestTooLarge", "Overloaded"]

export const documented = ({ summary, description, public: isPublic, errors }: RouteDocs) =>
  OpenApi.annotations({
    summary,
    ...(description === undefined ? {} : { description }),
    ...(isPublic ? {} : { override: requiresResellerToken }),
    transform: withErrors(isPublic ? errors : [...tokenErrors, ...errors])
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

/** One response per status; errors of the same status share it. */
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
