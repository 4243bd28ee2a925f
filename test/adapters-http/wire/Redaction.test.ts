import { redactedParam, redactedText } from "@tollgate/adapters-http/wire/Redaction"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const names = {
  publicName: "acme/large-1",
  upstreamModel: "vendor/big-model",
  secretWords: ["primary", "up"],
  containsApiKey: () => false
}
const redacted = (text: string) => redactedText(text, names)

describe("a provider's message", () => {
  it.each([
    "prompt is too long: 205000 tokens > 200000 maximum",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130011 tokens.",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "Invalid 'messages[0].name': string does not match pattern. Expected '^[^\\s<|\\\\/>]+$'.",
    "Invalid value: 'foo'. Supported values are: 'auto' and 'none'. They cannot be used together.",
    "messages.1.content.0.text: Field required. Image addresses must begin with http:// or https://.",
    "No tool output found for function call call_aB3dE5fG7hI9jK1lM3nO5pQ7."
  ])("is kept if it does not identify the provider: %s", (text) => {
    expect(redacted(text)).toBe(text)
  })

  it.each([
    ["The model `vendor/big-model` is overloaded", "The model `acme/large-1` is overloaded"],
    ["big-model does not support images.", "acme/large-1 does not support images."],
    ["accounts/vendor/models/big-model: bad", "acme/large-1: bad"],
    ["Use BIG-MODEL-2025-08-07 or acme/large-1.", "Use acme/large-1 or acme/large-1."]
  ])("is shown with the public name of the model: %j", (text, expected) => {
    expect(redacted(text)).toBe(expected)
  })

  it("is shown without control characters", () => {
    expect(redacted("bad\u0000\u001b[31m\u202e\ntext ")).toBe("bad [31m text")
  })

  it.each([
    "Primary cluster says no",
    "talk to up about it",
    "OpenAI: bad request",
    "litellm.BadRequestError: AzureException",
    "bad, see https://docs.vendor.example/errors",
    "write to help@vendor.example",
    "no route to api.vendor.ai",
    "no route to 10.1.2.3",
    "Incorrect key sk-proj-abc***xyz",
    "organization org-AbC123dEf is not verified",
    "Request ID: abc",
    "failed (req_011CQ7x9aBcD)",
    "trace 123e4567-e89b-12d3-a456-426614174000",
    "token aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ5",
    "this costs $0.03",
    "requires 12 credits",
    "You exceeded your current quota, please check your plan",
    "upgrade to a paid plan"
  ])("is dropped if it may reveal the provider, an account or a price: '%s'", (text) => {
    expect(redacted(text)).toBeUndefined()
  })

  it("is dropped if it is empty or longer than 2,000 characters", () => {
    expect(redacted("")).toBeUndefined()
    expect(redacted("no ".repeat(667))).toBeUndefined()
    expect(redacted("no ".repeat(667).slice(0, 2_000))).toBeDefined()
  })

  it("is shown if only the public name contains the provider's name", () => {
    const openai = {
      publicName: "openai/gpt-5",
      upstreamModel: "gpt-5-2025",
      secretWords: ["openai"],
      containsApiKey: () => false
    }
    expect(redactedText("gpt-5-2025 takes no images", openai)).toBe("openai/gpt-5 takes no images")
    expect(redactedText("OpenAI takes no images", openai)).toBeUndefined()
  })

  it("of 1,800 characters is cut after 1,000 characters", () => {
    const text = "no ".repeat(600)
    expect(redacted(text)).toBe(`${text.slice(0, 1_000)}...`)
  })

  const word = FastCheck.stringMatching(/^[a-z]{6,12}$/)
  // The id of a tool call is not searched, because it comes from the client's own messages.
  const before = FastCheck.fullUnicodeString().filter((text) => !/(?:call|toolu)_/.test(text))
  property(
    "contains no secret word when it is shown",
    [before, word, word, FastCheck.fullUnicodeString(), FastCheck.boolean()],
    (before, secret, upstreamModel, after, loud) => {
      const message = `${before}${loud ? secret.toUpperCase() : secret}${after} ${upstreamModel}`
      const shown = redactedText(message, {
        publicName: "ours",
        upstreamModel,
        secretWords: [secret],
        containsApiKey: () => false
      })
      return shown === undefined || !shown.toLowerCase().includes(secret)
    }
  )
})

describe("the member that a provider reports as invalid", () => {
  it.each([
    ["messages[0].content", "messages[0].content"],
    ["tools.0.function", "tools.0.function"],
    ["openai_thing", null],
    ["a member", null],
    ["x".repeat(101), null],
    [7, null],
    [undefined, null]
  ])("is kept or replaced by null: %s becomes %s", (param, expected) => {
    expect(redactedParam(param, names)).toBe(expected)
  })
})
