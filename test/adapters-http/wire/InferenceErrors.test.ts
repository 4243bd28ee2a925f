import { chatProtocol } from "@tollgate/adapters-http/inference/chat/ChatProtocol"
import { errorBody, type RelayError } from "@tollgate/adapters-http/wire/InferenceErrors"
import * as Errors from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { KeyBudgetExceeded, KeyRateLimited } from "@tollgate/domain/ledger/KeyHold"
import { describe, expect, it } from "vitest"

type Row = readonly [RelayError, number, string, string, string, object]

const limited = { "retry-after": "7" }
const rows: ReadonlyArray<Row> = [
  [
    new Errors.InvalidRequest({ message: "m", param: "p" }),
    400,
    "invalid_request",
    "invalid_request_error",
    "invalid_request_error",
    {}
  ],
  [
    new Errors.UnsupportedTool({ tool: "web_search", param: "p" }),
    400,
    "invalid_request",
    "invalid_request_error",
    "invalid_request_error",
    {}
  ],
  [
    new Errors.UpstreamRejected({ message: "m", param: null }),
    400,
    "invalid_request",
    "invalid_request_error",
    "invalid_request_error",
    {}
  ],
  [
    new Errors.InvalidApiKey({ reason: "missing" }),
    401,
    "invalid_api_key",
    "invalid_request_error",
    "authentication_error",
    { "www-authenticate": "Bearer" }
  ],
  [
    new InsufficientBalance(),
    402,
    "insufficient_balance",
    "insufficient_quota",
    "billing_error",
    { "x-should-retry": "false" }
  ],
  [
    new KeyBudgetExceeded(),
    402,
    "key_budget_exceeded",
    "insufficient_quota",
    "billing_error",
    { "x-should-retry": "false" }
  ],
  [
    new KeyRateLimited({
      limit: "tokens",
      retryAfterSeconds: 7,
      requests: undefined,
      tokens: { limit: 100, remaining: 3, resetSeconds: 7 }
    }),
    429,
    "rate_limited",
    "rate_limit_error",
    "rate_limit_error",
    {
      ...limited,
      "x-ratelimit-limit-tokens": "100",
      "x-ratelimit-remaining-tokens": "3",
      "x-ratelimit-reset-tokens": "7s"
    }
  ],
  [new Errors.ModelNotFound({ model: "m" }), 404, "model_not_found", "invalid_request_error", "not_found_error", {}],
  [
    new Errors.RequestTooLarge({ limitBytes: 5 }),
    413,
    "request_too_large",
    "invalid_request_error",
    "invalid_request_error",
    {}
  ],
  [
    new Errors.TechnicalLimit({ retryAfterSeconds: 7 }),
    429,
    "technical_limit",
    "rate_limit_error",
    "rate_limit_error",
    limited
  ],
  [{ _tag: "InternalError" }, 500, "internal_error", "server_error", "api_error", {}],
  [new Errors.UpstreamFailed({ cause: "SECRET" }), 502, "upstream_error", "server_error", "api_error", {}],
  [new Errors.Overloaded({ retryAfterSeconds: 6.2 }), 503, "overloaded", "server_error", "overloaded_error", limited],
  [new Errors.CircuitOpen({ retryAfterSeconds: 7 }), 503, "circuit_open", "server_error", "overloaded_error", limited]
]

const params: { readonly [Tag in RelayError["_tag"]]?: string } = {
  InvalidRequest: "p",
  UnsupportedTool: "p",
  ModelNotFound: "model"
}

describe("an inference error", () => {
  it.each(rows.map((row) => [row[0]._tag, row] as const))("has its status, code, types and headers: %s", (_, row) => {
    const [error, status, code, openai, anthropic, headers] = row
    for (const [dialect, type] of [
      ["openai", openai],
      ["anthropic", anthropic]
    ] as const) {
      const response = errorBody(error, "request-1", dialect)
      expect({ status: response.status, headers: response.headers }).toEqual({ status, headers })
      expect(JSON.parse(response.body)).toEqual({
        type: "error",
        error: {
          type,
          code,
          message: expect.stringMatching(/^(?:m|[A-Z'].{20,}\.)$/),
          param: params[error._tag] ?? null,
          details: { error_code: code }
        },
        request_id: "request-1"
      })
      expect(response.body).not.toContain("SECRET")
    }
  })

  it("has a `retry-after` of at least one second", () => {
    for (const seconds of [0, -1, 0.01, Number.NaN]) {
      const { headers } = errorBody(new Errors.Overloaded({ retryAfterSeconds: seconds }), "r", "openai")
      expect(headers["retry-after"]).toBe("1")
    }
  })

  it.each([
    new Errors.TechnicalLimit({ retryAfterSeconds: 7 }),
    new Errors.Overloaded({ retryAfterSeconds: 6.2 }),
    new Errors.CircuitOpen({ retryAfterSeconds: 7 })
  ])("in a stream, which has no `retry-after`, states the seconds in its message: $_tag", (error) => {
    const frames = chatProtocol.stream.errorFrames(error, "request-1")
    expect(JSON.parse(frames.slice(6)).error.message).toMatch(/ Try again in 7 seconds\.$/)
  })

  it("shortens a long model name in its message", () => {
    const { body } = errorBody(new Errors.ModelNotFound({ model: "x".repeat(1_000_000) }), "r", "openai")
    expect(body.length).toBeLessThan(500)
  })

  it("divides no surrogate pair in its message", () => {
    for (const start of ["", "x"]) {
      const { body } = errorBody(new Errors.ModelNotFound({ model: start + "😀".repeat(60) }), "r", "openai")
      expect(JSON.parse(body).error.message).not.toMatch(/\p{Surrogate}/u)
    }
  })

  it("is sent as one frame without [DONE] in a chat stream", () => {
    const frames = chatProtocol.stream.errorFrames(new Errors.UpstreamFailed({ cause: "SECRET" }), "request-1")
    expect(frames).toMatch(/^data: \{"error":\{.*\}\}\n\n$/)
    expect(JSON.parse(frames.slice(6)).error).toMatchObject({
      type: "server_error",
      code: "upstream_error",
      param: null
    })
    expect(frames).not.toContain("SECRET")
  })
})
