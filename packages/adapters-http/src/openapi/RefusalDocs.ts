/**
 * The error body of the inference routes, as the documentation shows it (gap A6).
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"

const ErrorBody = Schema.Struct({
  type: Schema.Literal("error"),
  error: Schema.Struct({
    type: Schema.String,
    code: Schema.String.annotations({ description: "What went wrong; for programs." }),
    message: Schema.String.annotations({ description: "What went wrong, and what to do; for people." }),
    param: Schema.NullOr(Schema.String).annotations({ description: "The member of the request at fault." }),
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
  unsupported_parameter: "A field outside the supported set was sent; see `param`.",
  unsupported_endpoint: "The model makes no images, or does not edit them.",
  content_policy_violation: "The prompt or the image was declined by the model's content policy. Not charged.",
  invalid_api_key: "The key is missing, wrong or revoked, or two different keys were sent.",
  insufficient_balance: "Neither the Token Plan for this model nor pay-as-you-go covers the request.",
  model_not_found: "No model of this name can be called at this route.",
  request_timeout: "The image was not ready within 120 seconds. Not charged.",
  idempotency_key_reused: "The `Idempotency-Key` was already used.",
  image_too_large: "The source image, or its form, exceeds its limit in bytes or pixels.",
  request_too_large: "The body is larger than the route takes.",
  image_concurrency_limit: "Another image request of the account is still running. See `retry-after`.",
  technical_limit: "The supplier is limiting requests; not a limit of this service. See `retry-after`.",
  upstream_error: "The supplier failed.",
  image_too_large_output: "The image is larger than 20 MiB and was withheld. Not charged.",
  overloaded: "The service is at its capacity, or being stopped. See `retry-after`.",
  circuit_open: "The suppliers of the model are being left alone after failures. See `retry-after`."
} as const

export type RefusalCode = keyof typeof meanings

/** A status and the codes it can carry. */
export const refusal = (status: number, ...codes: ReadonlyArray<RefusalCode>) =>
  ErrorBody.annotations(
    HttpApiSchema.annotations({
      status,
      description: codes.map((code) => `\`${code}\`: ${meanings[code]}`).join("\n\n")
    })
  )

/** What a relayed request can be refused for, in every protocol. */
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

/** What an image request can be refused for, given how the size of what it brings is refused. */
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
