/**
 * The errors of the reseller programme, as the documentation shows them: out of the table that tells them.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { internalError, statusOf } from "../http/SurfaceError.ts"
import { documentedRow, type ResellerErrorTag, resellerErrorBody } from "../wire/ResellerErrors.ts"
import { requiresResellerToken } from "./GatewayDocument.ts"

const EXAMPLE_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
const NAME = "ResellerError"

/** Registers the error body among the schemas; on every group. */
export const ResellerError = Schema.Struct({
  error: Schema.Struct({
    code: Schema.String.annotations({ description: "What went wrong; for programs." }),
    message: Schema.String.annotations({ description: "What went wrong, and what to do; for people." }),
    request_id: Schema.String.annotations({ description: "The id of the request, as in `x-request-id`." }),
    details: Schema.optional(
      Schema.Array(
        Schema.Struct({
          path: Schema.String.annotations({ description: "The member at fault; empty for the whole body." }),
          message: Schema.String.annotations({ description: "What it should be." })
        })
      ).annotations({ description: "On `validation_error` and `amount_out_of_range`." })
    )
  })
}).annotations({
  identifier: NAME,
  ...HttpApiSchema.annotations({
    status: statusOf(internalError),
    description: `\`${internalError.code}\`: Something went wrong on our side.`
  })
})

export interface RouteDocs {
  readonly summary: string
  readonly description?: string
  /** Needs no token. */
  readonly open?: true
  readonly errors: ReadonlyArray<ResellerErrorTag>
}

/** What can happen on every route that needs a token. */
const ofTokens: ReadonlyArray<ResellerErrorTag> = ["InvalidCredentials"]
/** What can happen on every route that reads a body. */
export const ofBodies: ReadonlyArray<ResellerErrorTag> = ["ValidationFailed", "RequestTooLarge", "Overloaded"]

export const documented = ({ summary, description, open, errors }: RouteDocs) =>
  OpenApi.annotations({
    summary,
    ...(description === undefined ? {} : { description }),
    ...(open ? {} : { override: requiresResellerToken }),
    transform: withRefusals(open ? errors : [...ofTokens, ...errors])
  })

const withRefusals =
  (tags: ReadonlyArray<ResellerErrorTag>) =>
  (operation: Record<string, unknown>): Record<string, unknown> => ({
    ...operation,
    responses: { ...(operation.responses as Record<string, unknown>), ...refusalsOf(tags) }
  })

interface DocumentedResponse {
  readonly description: string
  readonly content: {
    readonly "application/json": { readonly schema: object; readonly examples: Record<string, object> }
  }
}

const refusalsOf = (tags: ReadonlyArray<ResellerErrorTag>): Record<string, DocumentedResponse> => {
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
