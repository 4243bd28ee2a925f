/**
 * Defines the error table of the inference routes: one row with status, code, type and message for each error. The
 * error bodies of all these routes have the same form (docs/reference/errors.md#a6), with the members that the clients
 * of OpenAI and of Anthropic read. The errors that only image requests have are in wire/ImageErrors.ts.
 *
 *     {"type":"error","error":{"type","code","message","param","details":{"error_code"}},"request_id"}
 */
import type {
  CircuitOpen,
  InvalidApiKey,
  InvalidRequest,
  ModelNotFound,
  Overloaded,
  RequestTooLarge,
  TechnicalLimit,
  UnsupportedTool,
  UpstreamFailed,
  UpstreamRejected
} from "@tollgate/domain/inference/InferenceErrors"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { KeyBudgetExceeded, KeyRateLimited, RateStatus } from "@tollgate/domain/ledger/KeyHold"
import { shortened } from "@tollgate/domain/validation/Text"
import { retryAfter, tryAgain } from "./RetryAfter.ts"

/**
 * The errors with which the relay refuses or ends a request. An unexpected exception is reported as `InternalError`.
 */
export type RelayError =
  | InvalidRequest
  | UnsupportedTool
  | InvalidApiKey
  | InsufficientBalance
  | KeyBudgetExceeded
  | ModelNotFound
  | RequestTooLarge
  | UpstreamRejected
  | KeyRateLimited
  | TechnicalLimit
  | UpstreamFailed
  | Overloaded
  | CircuitOpen
  | { readonly _tag: "InternalError" }

/** An error response: its status, its headers in addition to the common headers, and its JSON body. */
export interface WireErrorBody {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * The API that defines the values of `error.type`: Anthropic's on the messages routes, OpenAI's on the other inference
 * routes.
 */
export type ErrorDialect = "openai" | "anthropic"

/** A row of an error table. */
export interface WireError<E> {
  readonly status: number
  readonly code: string
  readonly type: { readonly [Dialect in ErrorDialect]: string }
  /**
   * Message for the client. States the problem and, if the client can correct it, how. Never contains an internal
   * cause.
   */
  readonly message: (error: E) => string
  readonly param?: (error: E) => string | null
  readonly headers?: (error: E) => Record<string, string>
}

export const invalidRequest = { openai: "invalid_request_error", anthropic: "invalid_request_error" }
const overloaded = { openai: "server_error", anthropic: "overloaded_error" }
export const serverError = { openai: "server_error", anthropic: "api_error" }

const wireErrors: { readonly [Tag in RelayError["_tag"]]: WireError<Extract<RelayError, { readonly _tag: Tag }>> } = {
  InvalidRequest: {
    status: 400,
    code: "invalid_request",
    type: invalidRequest,
    message: (error) => error.message,
    param: (error) => error.param
  },
  UnsupportedTool: {
    status: 400,
    code: "invalid_request",
    type: invalidRequest,
    message: ({ param, tool }) =>
      `'${param}' contains the tool '${shortened(tool, MAX_NAME_CHARACTERS)}', which the provider would run. This model does not allow it. ` +
      "Turn the tool off in the settings of your client, or use a tool that your own program runs.",
    param: ({ param }) => param
  },
  UpstreamRejected: {
    status: 400,
    code: "invalid_request",
    type: invalidRequest,
    message: (error) => error.message,
    param: (error) => error.param
  },
  InvalidApiKey: {
    status: 401,
    code: "invalid_api_key",
    // OpenAI and Anthropic send these types for a wrong API key.
    type: { openai: "invalid_request_error", anthropic: "authentication_error" },
    message: ({ reason }) => keyMessages[reason],
    headers: () => ({ "www-authenticate": "Bearer" })
  },
  InsufficientBalance: {
    status: 402,
    code: "insufficient_balance",
    type: { openai: "insufficient_quota", anthropic: "billing_error" },
    message: () =>
      "The token plan for this model and the pay-as-you-go balance together do not cover this request. Ask your reseller " +
      "for more tokens.",
    headers: () => ({ "x-should-retry": "false" })
  },
  KeyBudgetExceeded: {
    status: 402,
    code: "key_budget_exceeded",
    type: { openai: "insufficient_quota", anthropic: "billing_error" },
    message: () =>
      "The spend limit of this API key does not cover this request. Ask the key's issuer for a higher limit.",
    headers: () => ({ "x-should-retry": "false" })
  },
  ModelNotFound: {
    status: 404,
    code: "model_not_found",
    type: { openai: "invalid_request_error", anthropic: "not_found_error" },
    message: ({ model }) =>
      `The model '${shortened(model, MAX_NAME_CHARACTERS)}' does not exist, or this protocol or API key cannot call it. GET /v1/models lists the models.`,
    param: () => "model"
  },
  RequestTooLarge: {
    status: 413,
    code: "request_too_large",
    type: invalidRequest,
    message: ({ limitBytes }) =>
      limitBytes === null
        ? "The request is larger than the model accepts. Send a smaller request."
        : `The request body is larger than ${limitBytes} bytes. Send a smaller body.`
  },
  KeyRateLimited: {
    status: 429,
    code: "rate_limited",
    type: { openai: "rate_limit_error", anthropic: "rate_limit_error" },
    message: (error) => `This API key has reached its limit of ${limitNames[error.limit]}. ${tryAgain(error)}`,
    headers: (error) => ({ ...retryAfter(error), ...rateLimitHeaders(error) })
  },
  TechnicalLimit: {
    status: 429,
    code: "technical_limit",
    type: { openai: "rate_limit_error", anthropic: "rate_limit_error" },
    message: (error) => `The model's rate limit is reached. ${tryAgain(error)}`,
    headers: retryAfter
  },
  UpstreamFailed: {
    status: 502,
    code: "upstream_error",
    type: serverError,
    message: () => "The model failed to respond. Try again. Nothing is charged if no content was delivered."
  },
  Overloaded: {
    status: 503,
    code: "overloaded",
    type: overloaded,
    message: (error) => `The service cannot process the request now. ${tryAgain(error)}`,
    headers: retryAfter
  },
  CircuitOpen: {
    status: 503,
    code: "circuit_open",
    type: overloaded,
    message: (error) => `The model is temporarily unavailable after failures. ${tryAgain(error)}`,
    headers: retryAfter
  },
  InternalError: {
    status: 500,
    code: "internal_error",
    type: serverError,
    message: () => "An internal error occurred. Try again. If the error occurs again, report the request id."
  }
}

const limitNames = { requests: "requests per minute", tokens: "tokens per minute", concurrent: "concurrent requests" }

/**
 * Returns the rate limits of the API key in the headers that OpenAI defines (`x-ratelimit-*`). The headers are the same
 * for both dialects.
 */
const rateLimitHeaders = ({ requests, tokens }: KeyRateLimited): Record<string, string> => ({
  ...statusHeaders("requests", requests),
  ...statusHeaders("tokens", tokens)
})

const statusHeaders = (unit: string, status: RateStatus | undefined): Record<string, string> =>
  status === undefined
    ? {}
    : {
        [`x-ratelimit-limit-${unit}`]: String(status.limit),
        [`x-ratelimit-remaining-${unit}`]: String(status.remaining),
        [`x-ratelimit-reset-${unit}`]: `${status.resetSeconds}s`
      }

const keyMessages = {
  missing: "An API key is required. Send it as 'Authorization: Bearer <key>' or as 'x-api-key: <key>'.",
  conflicting: "The request has two different credentials. Send only one API key.",
  unknown: "The API key is not valid. Check the key, or ask its issuer for a new key."
}

const MAX_NAME_CHARACTERS = 100

/** The `error` member, which is the same in an error response and in an event of a stream. */
export interface ErrorObject {
  readonly type: string
  readonly code: string
  readonly message: string
  readonly param: string | null
  readonly details: { readonly error_code: string }
}

export const errorObject = (error: RelayError, dialect: ErrorDialect): ErrorObject =>
  objectOf(wireErrorOf(error), error, dialect)

export const errorBody = (error: RelayError, requestId: string, dialect: ErrorDialect): WireErrorBody =>
  bodyOf(wireErrorOf(error), error, requestId, dialect)

/** Builds the error response from a row of this table or of the table in `ImageErrors.ts`. */
export const bodyOf = <E>(row: WireError<E>, error: E, requestId: string, dialect: ErrorDialect): WireErrorBody => ({
  status: row.status,
  headers: row.headers?.(error) ?? {},
  body: JSON.stringify({ type: "error", error: objectOf(row, error, dialect), request_id: requestId })
})

const objectOf = <E>({ code, type, message, param }: WireError<E>, error: E, dialect: ErrorDialect): ErrorObject => ({
  type: type[dialect],
  code,
  message: message(error),
  param: param?.(error) ?? null,
  details: { error_code: code }
})

/** The cast is needed because TypeScript cannot infer that the row found by an error's tag accepts that error. */
const wireErrorOf = (error: RelayError): WireError<RelayError> => wireErrors[error._tag] as WireError<RelayError>
