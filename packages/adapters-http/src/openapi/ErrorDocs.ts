/**
 * Declares error responses of the OpenAPI document. A route declares its error codes; {@link errorResponse} builds the
 * response, with an example of each error. The error table of the server builds the examples.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import type { SurfaceErrorCode } from "../http/SurfaceError.ts"
import type { DocumentedError as DocumentedRow } from "../wire/ErrorRow.ts"
import { headerDocsOf } from "./HeaderDocs.ts"

/** One error that an operation can return. */
export interface DocumentedError {
  readonly status: number
  readonly code: string
  /** Condition under which the error occurs. */
  readonly meaning: string
  /** Headers of the response in addition to the common headers. */
  readonly headers: Readonly<Record<string, string>>
  /** Body of an example. */
  readonly body: object
}

/**
 * The member of a response that lists the errors of the response, until `completedDocument` replaces the response. The
 * list is necessary because several declarations add errors with the same status.
 */
export const ERRORS = "x-errors"
/** Member of a schema that lists codes of the inference errors, until `completedDocument` replaces the response. */
export const INFERENCE_CODES = "x-inference-codes"

/** Member of a schema with the name of the component that `completedDocument` makes of the schema. */
export const COMPONENT = "x-component"

/** The two error bodies: one for the paths under `/v1`, and one for all other paths. */
export type ErrorComponent = "InferenceError" | "ApiError"

/**
 * A placeholder for the errors of a route group outside `/v1`. `completedDocument` replaces it with the errors that
 * {@link withErrors} declares, with the component `ApiError`.
 */
export const PlainError = Schema.Struct({
  error: Schema.Struct({ code: Schema.String, message: Schema.String, request_id: Schema.String })
}).annotations({ jsonSchema: { [INFERENCE_CODES]: [] }, ...HttpApiSchema.annotations({ status: 500 }) })

/** Adds the errors of an error table to an operation. */
export const withErrors =
  (rows: ReadonlyArray<DocumentedRow>) =>
  (operation: Record<string, unknown>): Record<string, unknown> => {
    const errors = rows.map(({ meaning, example }): DocumentedError => ({ meaning, ...example }))
    const responses = Object.fromEntries(
      errors.map(({ status }) => [status, { [ERRORS]: errors.filter((error) => error.status === status) }])
    )
    return { ...operation, responses: { ...(operation.responses as Record<string, unknown>), ...responses } }
  }

const code = { type: "string", description: "The machine-readable error code." }
const message = { type: "string", description: "The human-readable message: what went wrong and what to do." }
const requestId = { type: "string", description: "The id of the request, as in the header `x-request-id`." }

const closed = (properties: object, required: ReadonlyArray<string> = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false
})

export const errorComponents: { readonly [Name in ErrorComponent]: object } = {
  InferenceError: {
    description: "The error body of the routes under `/v1`. The clients of OpenAI and of Anthropic can read it.",
    ...closed({
      type: { type: "string", const: "error" },
      error: closed({
        type: {
          type: "string",
          description: "The type of error: an Anthropic type on `/v1/messages`, an OpenAI type on the other routes."
        },
        code,
        message,
        param: {
          type: ["string", "null"],
          description: "The request member that caused the error; null if no single member caused it."
        },
        details: closed({ error_code: { type: "string", description: "The same as `code`." } })
      }),
      request_id: requestId
    })
  },
  ApiError: {
    description: "The error body of all routes outside `/v1`.",
    ...closed({
      error: closed(
        {
          code,
          message,
          request_id: requestId,
          details: {
            type: "array",
            description:
              "The invalid members; only with `validation_error`, `amount_out_of_range` and `catalog_file_invalid`.",
            items: closed({
              path: { type: "string", description: "The path of the invalid member; empty for the whole body." },
              message: { type: "string", description: "The rule that the member violates." }
            })
          }
        },
        ["code", "message", "request_id"]
      )
    })
  }
}

/** Returns a schema that accepts only the error bodies with one of these codes. */
export const errorSchema = (component: ErrorComponent, codes: ReadonlyArray<string>): object => ({
  allOf: [
    { $ref: `#/components/schemas/${component}` },
    {
      type: "object",
      properties: { error: { type: "object", properties: { code: { ...code, enum: [...new Set(codes)] } } } }
    }
  ]
})

export const errorResponse = (component: ErrorComponent, errors: ReadonlyArray<DocumentedError>): object => {
  const codes = errors.map(({ code }) => code)
  const examples = errors.map(({ code, meaning, body }, i) => [
    codes.indexOf(code) === i ? code : `${code}_${i}`,
    { summary: meaning, value: body }
  ])
  return {
    description: errors.map(({ code, meaning }) => `\`${code}\`: ${meaning}`).join("\n\n"),
    headers: headerDocsOf(errors.map(({ headers }) => headers)),
    content: {
      "application/json": { schema: errorSchema(component, codes), examples: Object.fromEntries(examples) }
    }
  }
}

/** Errors that a request can get before its route reads it. They have the same statuses and codes on every path. */
export const commonErrors: { readonly [Name: string]: { readonly code: SurfaceErrorCode; readonly meaning: string } } =
  {
    MalformedRequest: { code: "invalid_request", meaning: "The request is not a valid HTTP/1.1 request." },
    UnknownPath: { code: "not_found", meaning: "There is no route with this path." },
    MethodNotAllowed: {
      code: "method_not_allowed",
      meaning: "The path does not support this method. The header `allow` lists the supported methods."
    },
    RequestTimeout: { code: "request_timeout", meaning: "The request did not arrive within the time limit." },
    ExpectationFailed: {
      code: "expectation_failed",
      meaning: "The request has an `expect` header other than `100-continue`."
    },
    HeadersTooLarge: { code: "headers_too_large", meaning: "The request line and the headers are too large." }
  }
