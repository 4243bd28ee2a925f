/**
 * Declares the parts of the OpenAPI document that the inference routes share: the error body, the error codes
 * (docs/reference/errors.md#a6), and event streams.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"

const ErrorBody = Schema.Struct({
  type: Schema.Literal("error"),
  error: Schema.Struct({
    type: Schema.String,
    code: Schema.String.annotations({ description: "The machine-readable error code." }),
    message: Schema.String.annotations({ description: "The human-readable message: what went wrong and what to do." }),
    param: Schema.NullOr(Schema.String).annotations({
      description: "The request member that caused the error; null if no single member caused it."
    }),
    details: Schema.Struct({ error_code: Schema.String })
  }),
  request_id: Schema.String
}).annotations({
  identifier: "InferenceError",
  examples: [
    {
      type: "error",
      error: {
        type: "invalid_request_error",
        code: "model_not_found",
        message: "There is no model 'gpt-6' at this endpoint. GET /v1/models lists the models that can be called.",
        param: "model",
        details: { error_code: "model_not_found" }
      },
      request_id: "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
    }
  ]
})

const meanings = {
  invalid_request: "The body is malformed or invalid.",
  unsupported_parameter: "The request has a member that is not supported; see `param`.",
  unsupported_endpoint:
    "The model cannot be called on this route, because it cannot generate images or cannot edit them.",
  content_policy_violation: "The model's content policy declined the prompt or the image. Nothing was charged.",
  invalid_api_key: "The API key is missing, wrong or revoked, or the request has two different credentials.",
  insufficient_balance:
    "The token plan for this model and the pay-as-you-go balance together do not cover the request.",
  model_not_found: "No model with this name is available on this route.",
  request_timeout: "The image was not ready within 120 seconds. Nothing was charged.",
  idempotency_key_reused: "An earlier request with this `Idempotency-Key` was sent to a provider.",
  image_too_large: "The source image or the form is larger than a limit in bytes or pixels.",
  request_too_large: "The body is larger than the route or the model accepts.",
  image_concurrency_limit: "Another image request of the customer is still running. See `retry-after`.",
  technical_limit: "The provider's rate limit is reached; this service itself sets no such limit. See `retry-after`.",
  upstream_error: "The provider failed.",
  image_too_large_output: "The generated image is larger than 20 MiB and was withheld. Nothing was charged.",
  overloaded:
    "The service cannot process the request now, for example because it is at capacity or shutting down. See `retry-after`.",
  circuit_open: "The circuit breakers of the model's providers are open after failures. See `retry-after`."
} as const

export type RefusalCode = keyof typeof meanings

/** Declares an error response with its status and the error codes that its body can contain. */
export const refusal = (status: number, ...codes: ReadonlyArray<RefusalCode>) =>
  ErrorBody.annotations(
    HttpApiSchema.annotations({
      status,
      description: codes.map((code) => `\`${code}\`: ${meanings[code]}`).join("\n\n")
    })
  )

/** The error responses of a request to the relay, which are the same in every protocol. */
export const relayRefusals = Schema.Union(
  refusal(400, "invalid_request"),
  refusal(401, "invalid_api_key"),
  refusal(402, "insufficient_balance"),
  refusal(404, "model_not_found"),
  refusal(413, "request_too_large"),
  refusal(429, "technical_limit"),
  refusal(502, "upstream_error"),
  refusal(503, "overloaded", "circuit_open")
)

/** Returns the error responses of an image route; `tooLarge` is the error code of the 413 response. */
export const imageRefusals = (tooLarge: RefusalCode) =>
  Schema.Union(
    refusal(400, "invalid_request", "unsupported_parameter", "unsupported_endpoint", "content_policy_violation"),
    refusal(401, "invalid_api_key"),
    refusal(402, "insufficient_balance"),
    refusal(404, "model_not_found"),
    refusal(408, "request_timeout"),
    refusal(409, "idempotency_key_reused"),
    refusal(413, tooLarge),
    refusal(429, "image_concurrency_limit", "technical_limit"),
    refusal(502, "upstream_error", "image_too_large_output"),
    refusal(503, "overloaded", "circuit_open")
  )

export interface EventStreamDocs {
  readonly description: string
  /** Events of a short stream exactly as they are sent, but without the blank lines between the events. */
  readonly example: ReadonlyArray<string>
}

/** Adds `text/event-stream` to the 200 response, because the library declares only one content type per status. */
export const withEventStream =
  ({ description, example }: EventStreamDocs) =>
  (operation: Record<string, unknown>): Record<string, unknown> => {
    const responses = operation.responses as Record<string, { readonly content: object }>
    const ok = responses["200"]
    const stream = { schema: { type: "string", description }, example: [...example, ""].join("\n\n") }
    const content = { ...ok?.content, "text/event-stream": stream }
    return { ...operation, responses: { ...responses, "200": { ...ok, content } } }
  }
