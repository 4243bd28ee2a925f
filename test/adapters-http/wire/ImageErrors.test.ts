import { type ImageError, imageErrorBody } from "@tollgate/adapters-http/wire/ImageErrors"
import * as Errors from "@tollgate/domain/images/ImageErrors"
import { InvalidRequest, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { expect, it } from "vitest"

type Row = readonly [string, ImageError, string, string | null, object]

const final = { "x-should-retry": "false" }
const rows: ReadonlyArray<Row> = [
  [
    "400 content_policy_violation",
    new Errors.ContentPolicyViolation({ message: "m" }),
    "invalid_request_error",
    null,
    {}
  ],
  [
    "400 unsupported_parameter",
    new Errors.UnsupportedParameter({ message: "m", param: "p" }),
    "invalid_request_error",
    "p",
    {}
  ],
  ["400 unsupported_endpoint", new Errors.UnsupportedEndpoint({ message: "m" }), "invalid_request_error", "model", {}],
  ["408 request_timeout", new Errors.ImageTimeout(), "timeout_error", null, final],
  ["409 idempotency_key_reused", new Errors.IdempotencyKeyReused(), "conflict_error", null, final],
  ["413 image_too_large", new Errors.ImageTooLarge({ message: "m" }), "invalid_request_error", "image", {}],
  [
    "429 image_concurrency_limit",
    new Errors.ImageConcurrencyLimit({ retryAfterSeconds: 6.2 }),
    "rate_limit_error",
    null,
    { "retry-after": "7" }
  ],
  ["502 image_too_large_output", new Errors.ImageWithheld(), "server_error", null, final],
  ["400 invalid_request", new InvalidRequest({ message: "m", param: "p" }), "invalid_request_error", "p", {}],
  ["502 upstream_error", new UpstreamFailed({ cause: "SECRET" }), "server_error", null, {}],
  ["500 internal_error", { _tag: "InternalError" }, "server_error", null, {}]
]

it.each(rows)("an image request fails with %s", (row, error, type, param, headers) => {
  const response = imageErrorBody(error, "request-1")
  const [status, code] = row.split(" ")
  expect({ status: response.status, headers: response.headers }).toEqual({ status: Number(status), headers })
  expect(JSON.parse(response.body)).toEqual({
    type: "error",
    error: {
      type,
      code,
      param,
      message: expect.stringMatching(/^(?:m|[A-Z].{20,}\.)$/),
      details: { error_code: code }
    },
    request_id: "request-1"
  })
  expect(response.body).not.toContain("SECRET")
})
