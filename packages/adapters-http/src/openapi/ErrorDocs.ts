/**
 * Declares the parts of the OpenAPI document that belong to the plain error body: its schema, and the error responses of
 * an operation, which are built from an error table.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { internalError, statusOf } from "../http/SurfaceError.ts"
import type { DocumentedError } from "../wire/ErrorRow.ts"

/** Declares the error body under a name. As an error of a route group, it is the response to an unexpected error. */
export const plainError = (name: string) =>
  Schema.Struct({
    error: Schema.Struct({
      code: Schema.String.annotations({ description: "The machine-readable error code." }),
      message: Schema.String.annotations({
        description: "The human-readable message: what went wrong and what to do."
      }),
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
    identifier: name,
    ...HttpApiSchema.annotations({
      status: statusOf(internalError),
      description: `\`${internalError.code}\`: An unexpected error occurred in the service.`
    })
  })

/** Adds the error responses to an operation. `name` is the name of the error body. */
export const withErrors =
  (name: string, errors: ReadonlyArray<DocumentedError>) =>
  (operation: Record<string, unknown>): Record<string, unknown> => ({
    ...operation,
    responses: { ...(operation.responses as Record<string, unknown>), ...errorResponses(name, errors) }
  })

interface DocumentedResponse {
  readonly description: string
  readonly content: {
    readonly "application/json": { readonly schema: object; readonly examples: Record<string, object> }
  }
}

/** Returns one response for each status. Errors with the same status share one response. */
const errorResponses = (name: string, errors: ReadonlyArray<DocumentedError>): Record<string, DocumentedResponse> => {
  const responses: Record<string, DocumentedResponse> = {}
  for (const { meaning, example } of errors) {
    const { status, code, body } = example
    const before = responses[status]
    const line = `\`${code}\`: ${meaning}`
    responses[status] = {
      description: before === undefined ? line : `${before.description}\n\n${line}`,
      content: {
        "application/json": {
          schema: { $ref: `#/components/schemas/${name}` },
          examples: { ...before?.content["application/json"].examples, [code]: { summary: meaning, value: body } }
        }
      }
    }
  }
  return responses
}
