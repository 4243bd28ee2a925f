/**
 * Declares the parts of the OpenAPI document that the inference routes share: the error body, the error codes
 * (docs/reference/errors.md#a6), and event streams.
 */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import {
  ContentPolicyViolation,
  IdempotencyKeyReused,
  ImageConcurrencyLimit,
  ImageTimeout,
  ImageTooLarge,
  ImageWithheld,
  UnsupportedEndpoint,
  UnsupportedParameter
} from "@tollgate/domain/images/ImageErrors"
import {
  CircuitOpen,
  InvalidApiKey,
  InvalidRequest,
  ModelNotFound,
  Overloaded,
  RequestTooLarge,
  TechnicalLimit,
  UpstreamFailed
} from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { KeyBudgetExceeded, KeyRateLimited } from "@tollgate/domain/ledger/KeyHold"
import * as Schema from "effect/Schema"
import { dialectOf } from "../http/SurfaceError.ts"
import { EXAMPLE_REQUEST_ID } from "../wire/ErrorRow.ts"
import { type ImageError, imageErrorBody } from "../wire/ImageErrors.ts"
import { errorBody, type RelayError, type WireErrorBody } from "../wire/InferenceErrors.ts"
import { COMPONENT, type DocumentedError, INFERENCE_CODES } from "./ErrorDocs.ts"

const ErrorBody = Schema.Struct({
  type: Schema.Literal("error"),
  error: Schema.Struct({
    type: Schema.String,
    code: Schema.String,
    message: Schema.String,
    param: Schema.NullOr(Schema.String),
    details: Schema.Struct({ error_code: Schema.String })
  }),
  request_id: Schema.String
})

const meanings = {
  invalid_request: "The body, a header or a query parameter of the request is malformed or invalid.",
  unsupported_parameter: "The request has a member that is not supported; see `param`.",
  unsupported_endpoint:
    "The model does not support the operation of this route (generating or editing images), or has no provider for images.",
  content_policy_violation: "The model's content policy declined the prompt or the image. Nothing was charged.",
  invalid_api_key: "The API key is missing, wrong, expired or revoked, or the request has two different credentials.",
  insufficient_balance:
    "The token plan for this model and the pay-as-you-go balance together do not cover the request.",
  key_budget_exceeded: "A spend limit of the API key does not cover the request.",
  rate_limited:
    "A rate limit or the limit of concurrent requests of the API key is reached. See `retry-after` and the headers `x-ratelimit-*`.",
  model_not_found: "The model does not exist, or this route or this API key cannot call it.",
  request_timeout: "The image was not ready within 120 seconds. Nothing was charged.",
  idempotency_key_reused: "An earlier request with this `Idempotency-Key` is running or was sent to a provider.",
  image_too_large: "The source image has too many bytes or pixels, or the multipart form has too many bytes.",
  request_too_large: "The body is larger than the limit of this HTTP route, or larger than the model accepts.",
  image_concurrency_limit: "Another image request of the customer is still running. See `retry-after`.",
  technical_limit: "The provider's rate limit is reached. No limit of this service is reached. See `retry-after`.",
  upstream_error: "The provider failed.",
  internal_error: "An unexpected error occurred in the service.",
  image_too_large_output: "The generated image is larger than 20 MiB and was withheld. Nothing was charged.",
  overloaded:
    "The service cannot process the request now, for example because it is at capacity or shutting down. See `retry-after`.",
  circuit_open: "The circuit breakers of the model's providers are open after failures. See `retry-after`."
} as const

export type RefusalCode = keyof typeof meanings

/** One error for each code that the relay can return. The document shows these errors as examples. */
const relayErrors: { readonly [Code in RefusalCode]?: RelayError } = {
  invalid_request: new InvalidRequest({ message: "'model' must be a non-empty string.", param: "model" }),
  invalid_api_key: new InvalidApiKey({ reason: "unknown" }),
  insufficient_balance: new InsufficientBalance(),
  key_budget_exceeded: new KeyBudgetExceeded(),
  rate_limited: new KeyRateLimited({
    limit: "requests",
    retryAfterSeconds: 42,
    requests: { limit: 60, remaining: 0, resetSeconds: 42 },
    tokens: { limit: 100_000, remaining: 58_000, resetSeconds: 42 }
  }),
  model_not_found: new ModelNotFound({ model: "no-such-model" }),
  request_too_large: new RequestTooLarge({ limitBytes: 33_554_432 }),
  technical_limit: new TechnicalLimit({ retryAfterSeconds: 5 }),
  upstream_error: new UpstreamFailed({ cause: "an example" }),
  internal_error: { _tag: "InternalError" },
  overloaded: new Overloaded({ retryAfterSeconds: 1 }),
  circuit_open: new CircuitOpen({ retryAfterSeconds: 5 })
}

/** One error for each code that image requests can get and `relayErrors` does not contain. */
const imageErrors: { readonly [Code in RefusalCode]?: ImageError } = {
  unsupported_parameter: new UnsupportedParameter({ message: "'seed' is not supported.", param: "seed" }),
  unsupported_endpoint: new UnsupportedEndpoint({ message: "The model 'demo-image' cannot edit images." }),
  content_policy_violation: new ContentPolicyViolation({ message: "The model declined the prompt." }),
  request_timeout: new ImageTimeout(),
  idempotency_key_reused: new IdempotencyKeyReused(),
  image_too_large: new ImageTooLarge({ message: "The image is larger than 10 MiB. Send a smaller image." }),
  image_concurrency_limit: new ImageConcurrencyLimit({ retryAfterSeconds: 5 }),
  image_too_large_output: new ImageWithheld()
}

const exampleOf = (code: RefusalCode, path: string): WireErrorBody => {
  const error = relayErrors[code]
  if (error !== undefined) return errorBody(error, EXAMPLE_REQUEST_ID, dialectOf(path))
  const imageError = imageErrors[code]
  if (imageError === undefined) throw new Error(`add an example of the error ${code} to InferenceDocs.ts`)
  return imageErrorBody(imageError, EXAMPLE_REQUEST_ID)
}

/** Returns the errors with these codes as a route with this path returns them. */
export const inferenceErrors = (codes: ReadonlyArray<RefusalCode>, path: string): ReadonlyArray<DocumentedError> =>
  codes.map((code) => {
    const { status, headers, body } = exampleOf(code, path)
    return { status, code, meaning: meanings[code], headers, body: JSON.parse(body) as object }
  })

/** Declares an error response with its status and the error codes that its body can contain. */
export const refusal = (status: number, ...codes: ReadonlyArray<RefusalCode>) =>
  ErrorBody.annotations({ jsonSchema: { [INFERENCE_CODES]: codes }, ...HttpApiSchema.annotations({ status }) })

/** The error responses of the relay. All protocols have the same statuses and codes. */
export const relayRefusals = Schema.Union(
  refusal(400, "invalid_request"),
  refusal(401, "invalid_api_key"),
  refusal(402, "insufficient_balance", "key_budget_exceeded"),
  refusal(404, "model_not_found"),
  refusal(413, "request_too_large"),
  refusal(429, "rate_limited", "technical_limit"),
  refusal(502, "upstream_error"),
  refusal(503, "overloaded", "circuit_open")
)

/** Returns the error responses of an image route; `tooLarge` is the error code of the 413 response. */
export const imageRefusals = (tooLarge: RefusalCode) =>
  Schema.Union(
    refusal(400, "invalid_request", "unsupported_parameter", "unsupported_endpoint", "content_policy_violation"),
    refusal(401, "invalid_api_key"),
    refusal(402, "insufficient_balance", "key_budget_exceeded"),
    refusal(404, "model_not_found"),
    refusal(408, "request_timeout"),
    refusal(409, "idempotency_key_reused"),
    refusal(413, tooLarge),
    refusal(429, "image_concurrency_limit", "rate_limited", "technical_limit"),
    refusal(502, "upstream_error", "image_too_large_output"),
    refusal(503, "overloaded", "circuit_open")
  )

export interface EventStreamDocs {
  readonly description: string
  /** Name of the component that describes the JSON in the `data` of each event. */
  readonly eventName: string
  readonly eventSchema: object
  /** Events of a short stream exactly as they are sent, but without the blank lines between the events. */
  readonly example: ReadonlyArray<string>
}

/**
 * Member of a media type with the schema of the JSON in the `data` of each event. OpenAPI 3.2 has the member
 * `itemSchema` for this purpose, OpenAPI 3.1 has none.
 */
const EVENT_SCHEMA = "x-event-schema"

/** Headers of a response that is either JSON or an event stream. */
const STREAM_HEADERS = {
  "cache-control": {
    description: "`no-store`, or `no-cache, no-transform` for an event stream.",
    required: true,
    schema: { type: "string", enum: ["no-store", "no-cache, no-transform"] }
  },
  "x-accel-buffering": {
    description: "Tells reverse proxies not to buffer an event stream.",
    schema: { type: "string", const: "no" }
  }
}

/** Adds `text/event-stream` to the 200 response: `@effect/platform` can declare only one content type per status. */
export const withEventStream =
  ({ description, eventName, eventSchema, example }: EventStreamDocs) =>
  (operation: Record<string, unknown>): Record<string, unknown> => {
    const responses = operation.responses as Record<string, { readonly content: object }>
    const ok = responses["200"]
    const stream = {
      schema: { type: "string", description: `${description} The \`data\` of each event is a \`${eventName}\`.` },
      [EVENT_SCHEMA]: { [COMPONENT]: eventName, ...eventSchema },
      example: [...example, ""].join("\n\n")
    }
    const content = { ...ok?.content, "text/event-stream": stream }
    return { ...operation, responses: { ...responses, "200": { ...ok, headers: STREAM_HEADERS, content } } }
  }

/** The `error` member of an event that reports a failure after the first byte of a stream. */
export const streamError = {
  type: "object",
  required: ["type", "code", "message"],
  properties: {
    type: { type: "string" },
    code: { type: ["string", "null"], description: "The machine-readable error code." },
    message: { type: "string" }
  }
}
