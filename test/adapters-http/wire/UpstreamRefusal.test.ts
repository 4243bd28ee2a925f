import { refusalOfError, refusalOfStatus, withoutEmptyError } from "@tollgate/adapters-http/wire/UpstreamRefusal"
import { describe, expect, it } from "vitest"
import { emptyErrors } from "../../support/upstream/EmptyErrors.ts"

const names = {
  publicName: "public-model",
  upstreamModel: "upstream-model",
  secretWords: ["primary"],
  containsApiKey: () => false
}
const refusal = (status: number, body: unknown = {}, retryAfter?: string) =>
  refusalOfStatus(status, retryAfter, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)), names)

describe("a provider's refusal", () => {
  it.each([400, 422])("with status %i keeps its message in redacted form", (status) => {
    const error = { message: "upstream-model takes no images", param: "messages[0]", code: "x" }
    expect(refusal(status, { error })).toMatchObject({
      _tag: "UpstreamRejected",
      message: "public-model takes no images",
      param: "messages[0]"
    })
  })

  it.each([
    ["an error that is a string", { error: "too long" }, "too long"],
    ["a top-level message", { object: "error", message: "too long" }, "too long"],
    ["a `detail` string", { detail: "too long" }, "too long"],
    ["a list of `detail` objects", { detail: [{ loc: ["body"], msg: "too long" }] }, "too long"],
    ["an error after a byte order mark", '\ufeff{"error":{"message":"too long"}}', "too long"],
    ["a list of errors", [{ error: { message: "too long" } }], "too long"],
    [
      "a message that identifies the provider",
      { error: { message: "primary says no" } },
      "The model does not accept this request."
    ],
    ["a body that is not JSON", "<html>", "The model does not accept this request."],
    ["an empty body", "", "The model does not accept this request."]
  ])("with status 400 and %s has a message for the client", (_, body, message) => {
    expect(refusal(400, body)).toMatchObject({ _tag: "UpstreamRejected", message: expect.stringContaining(message) })
  })

  it("is an upstream failure if it is about the gateway's account", () => {
    expect(refusal(400, { error: { message: "Your credit balance is too low to access the API." } })._tag).toBe(
      "UpstreamFailed"
    )
    expect(refusal(400, { error: { message: "API key not valid. Please pass a valid API key." } })._tag).toBe(
      "UpstreamFailed"
    )
    const noCredit = {
      message: "You exceeded your current quota.",
      type: "insufficient_quota",
      code: "insufficient_quota"
    }
    expect(refusal(429, { error: noCredit })._tag).toBe("UpstreamFailed")
  })

  it("is passed to the client if it only quotes text about API keys", () => {
    expect(refusal(400, { error: { message: "Invalid value: 'API key not valid'" } })._tag).toBe("UpstreamRejected")
  })

  it("with status 413 is passed on without a limit in bytes", () => {
    expect(refusal(413)).toMatchObject({ _tag: "RequestTooLarge", limitBytes: null })
  })

  it.each([
    ["7", 7],
    ["0", 5],
    ["0.2", 1],
    ["3600", 60],
    ["Wed, 21 Oct 2026 07:28:00 GMT", 5],
    ["-3", 5],
    ["99999999999999999999", 5],
    [undefined, 5]
  ])("with status 429 and retry-after %s has a retry delay of %i seconds", (retryAfter, retryAfterSeconds) => {
    expect(refusal(429, {}, retryAfter)).toMatchObject({ _tag: "TechnicalLimit", retryAfterSeconds })
  })

  it.each([301, 401, 402, 403, 404, 405, 408, 409, 410, 415, 451, 418, 500, 501, 502, 503, 504, 520, 529])(
    "with another status (%i) is an upstream failure",
    (status) => {
      expect(refusal(status, { error: { message: "sk-secret" } })).toMatchObject({
        _tag: "UpstreamFailed",
        cause: `status ${status}`
      })
    }
  )
})

describe("an error in a 2xx response", () => {
  it.each([
    [{ code: 429 }, "TechnicalLimit"],
    [{ status: "429" }, "TechnicalLimit"],
    [{ code: "rate_limit_exceeded" }, "TechnicalLimit"],
    [{ type: "rate_limit_error" }, "TechnicalLimit"],
    [{ status: 429, code: "insufficient_quota" }, "UpstreamFailed"],
    [{ type: "overloaded_error" }, "UpstreamFailed"],
    [{ code: 400 }, "UpstreamRejected"],
    [{ type: "invalid_request_error" }, "UpstreamRejected"],
    [{ code: "413" }, "RequestTooLarge"],
    [{ code: 502, type: "x" }, "UpstreamFailed"],
    ["429", "UpstreamFailed"],
    [null, "UpstreamFailed"],
    [{ code: { a: 1 }, type: [] }, "UpstreamFailed"],
    [{ code: 429, type: { toString: 1 } }, "TechnicalLimit"],
    [{ type: { toString: 1 } }, "UpstreamFailed"]
  ])("is mapped by its code, status or type: %j becomes %s", (error, tag) => {
    expect(refusalOfError(error)._tag).toBe(tag)
  })

  it("is passed on without its message", () => {
    expect(refusalOfError({ code: 400, message: "primary says no" })).toMatchObject({
      message: expect.stringContaining("does not accept this request")
    })
  })

  it("is logged without its message", () => {
    const error = { code: "invalid_api_key", message: "Incorrect API key: sk-secret" }
    expect(refusalOfError(error)).toMatchObject({ cause: "an error instead of a response: invalid_api_key" })
  })
})

describe("the member `error` of a response", () => {
  it.each([...emptyErrors])("becomes null if it is empty: %j", (error) => {
    expect(withoutEmptyError({ id: "x", error })).toEqual({ id: "x", error: null })
  })

  it.each(["boom", true, [], { message: "boom" }, { message: "", code: 500 }, { message: null, type: {} }, null])(
    "is kept if it states an error or is null: %j",
    (error) => {
      const response = { id: "x", error }
      expect(withoutEmptyError(response)).toBe(response)
    }
  )
})
