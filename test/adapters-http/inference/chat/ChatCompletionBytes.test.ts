/** `splicedCompletion` returns undefined for a chat completion that must be parsed. */
import { isDeepStrictEqual } from "node:util"
import { splicedCompletion } from "@tollgate/adapters-http/inference/chat/ChatCompletionBytes"
import { parsedCompletion } from "@tollgate/adapters-http/inference/chat/ChatResponse"
import type { TranslatedResponse } from "@tollgate/adapters-http/inference/relay/RelayProtocol"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../../support/property.ts"
import { completion, usage } from "../../../support/upstream/ChatWire.ts"
import { context } from "./TranslatedStream.ts"

const publicName = "modèle-公開"
const spliced = (body: string) => splicedCompletion({ ...context, publicName }, Buffer.from(body))
const parsed = (body: string) => parsedCompletion({ ...context, publicName }, Buffer.from(body))
const textOf = ({ body, encoding }: TranslatedResponse) => Buffer.from(body, encoding).toString()
const valueOf = (response: TranslatedResponse) => ({
  json: JSON.parse(textOf(response)),
  content: response.content(),
  usage: response.usage
})

const { constantFrom } = FastCheck
const string = FastCheck.oneof(
  FastCheck.fullUnicodeString({ maxLength: 8 }).map((text) => JSON.stringify(text)),
  constantFrom('"\\u00e9\\/\\ud800"', '"\\ud83d\\ude00"', '"error"', '"stop"', '"Tool-Use"', '""', '"a\\nb"')
)
const number = constantFrom("0", "7", "12345678901234567890", "1.50e3", "-2", "0.1", "10000001")
const value: FastCheck.Arbitrary<string> = FastCheck.oneof(
  string,
  number,
  constantFrom(
    "null",
    "true",
    "[]",
    "{}",
    '[{"text":"t","summary":"s","provider":"x"}]',
    '{"name":"f","arguments":"{}"}'
  ),
  FastCheck.jsonValue({ maxDepth: 2 }).map((json) => JSON.stringify(json))
)
const space = constantFrom("", "", "", " ", "\n\t")

/** An object with its members in any order. Any member can be repeated. */
const object = (members: { readonly [name: string]: FastCheck.Arbitrary<string> }, required: ReadonlyArray<string>) => {
  const member = (name: string) =>
    FastCheck.tuple(space, space, members[name] ?? value).map(
      ([before, after, text]) => `${before}${JSON.stringify(name)}${after}:${before}${text}${after}`
    )
  const others = FastCheck.oneof(
    { weight: 1, arbitrary: FastCheck.oneof(...Object.keys(members).map(member)) },
    {
      weight: 8,
      arbitrary: FastCheck.tuple(
        FastCheck.oneof(string, constantFrom('"x_trace"', '"\\u0063ost"', '"__proto__"')),
        value
      ).map(([name, text]) => `${name}:${text}`)
    }
  )
  return FastCheck.tuple(FastCheck.tuple(...required.map(member)), FastCheck.array(others, { maxLength: 2 }))
    .chain(([needed, more]) =>
      FastCheck.shuffledSubarray([...needed, ...more], { minLength: needed.length + more.length })
    )
    .map((all) => `{${all.join(",")}}`)
}

const message = object(
  {
    role: constantFrom('"assistant"', '"model"', "null"),
    content: FastCheck.oneof(string, value),
    refusal: FastCheck.oneof(string, constantFrom("null")),
    reasoning_content: string,
    tool_calls: constantFrom("null", "[]", "[ ]", '[{"id":"call_1","function":{"name":"f"}}]'),
    reasoning_details: value,
    system_fingerprint: string
  },
  ["role", "content"]
)
const choice = object(
  {
    index: constantFrom("0", "1", "2", "12", "3", "4", "1e1", "-0"),
    message,
    finish_reason: FastCheck.oneof(
      constantFrom('"stop"', '"length"', '"MAX_TOKENS"', "null", '"Tool-Use"'),
      constantFrom('""', '"eos"', '"error"')
    ),
    logprobs: constantFrom("null", '{"content":[{"logprob":-0.10}]}')
  },
  ["message", "finish_reason"]
)
const body = object(
  {
    object: FastCheck.constant('"chat.completion"'),
    choices: FastCheck.array(choice, { minLength: 1, maxLength: 2 }).map((all) => `[${all.join(",")}]`),
    usage: FastCheck.oneof(
      constantFrom("null", JSON.stringify(usage(7, 2, 3)), '{"prompt_tokens":1,"completion_tokens":2,"cost":3}'),
      value
    ),
    error: constantFrom("null", "null", '{"code":429}'),
    x_groq: constantFrom("null", '{"usage":{"prompt_tokens":1,"completion_tokens":2}}')
  },
  ["object", "choices"]
)

describe("a chat completion rewritten without parsing", () => {
  property("equals the parsed and encoded completion", [body], (text) => {
    const response = spliced(text)
    return (
      response === undefined || isDeepStrictEqual(Either.map(parsed(text), valueOf), Either.right(valueOf(response)))
    )
  })

  property("is produced for a message of plain text", [FastCheck.fullUnicodeString()], (text) => {
    const response = spliced(JSON.stringify({ ...completion({ content: [text], usage: usage(7, 2) }), error: null }))
    return response !== undefined && response.content() === text
  })

  it("keeps the bytes of numbers and escapes", () => {
    const kept = '"content":"\\u00e9é\\/","annotations":[12345678901234567890,1.0]'
    const response = spliced(`{"choices":[{"message":{"role":"assistant",${kept}},"logprobs":{"x":1.50}}]}`)
    expect(response && textOf(response)).toBe(
      `{"id":"chatcmpl-ours","object":"chat.completion","created":${context.createdAtSeconds},"model":"${publicName}",` +
        `"choices":[{"index":0,"message":{"role":"assistant",${kept}},"logprobs":{"x":1.50},"finish_reason":"stop"}]}`
    )
  })

  it.each([
    ["an error", '"error":{"message":"no"},"choices":[{"message":{}}]'],
    ["tool calls", '"choices":[{"message":{"tool_calls":[{"id":"call_1"}]}}]'],
    ["a repeated member", '"choices":[{"message":{"content":"a"},"message":{"content":"b"}}]'],
    ["no choices", '"choices":[]'],
    ["a syntax error", '"choices":[{"message":{"content":"a}}]']
  ])("is not produced for a completion with %s", (_, members) => {
    expect(spliced(`{${members}}`)).toBeUndefined()
  })
})
