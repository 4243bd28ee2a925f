import { translatedResponse } from "@tollgate/adapters-http/inference/embeddings/EmbeddingsResponse"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../../support/property.ts"
import { emptyErrors } from "../../../support/upstream/EmptyErrors.ts"

const context = { requestId: RequestId("r"), publicName: "public", createdAtSeconds: 1 }
const translated = (body: unknown, inputs = 1) =>
  translatedResponse(context, inputs, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)))
const accepted = (body: unknown, inputs = 1) => Either.getOrThrow(translated(body, inputs))
const failed = (body: unknown, inputs = 1) =>
  Either.match(translated(body, inputs), { onLeft: ({ _tag }) => _tag, onRight: ({ body }) => body })

const item = (embedding: unknown = [0.5, -1], more: object = {}) => ({
  object: "embedding",
  index: 0,
  embedding,
  ...more
})
const list = (data: unknown, more: object = {}) => ({
  object: "list",
  data,
  model: "upstream-model",
  usage: { prompt_tokens: 3, total_tokens: 3 },
  ...more
})

describe("an embeddings response", () => {
  it("whose usage has millions of tiny values is refused before it is parsed", () => {
    const usage = `{"prompt_tokens":3,"more":[${"{},".repeat(2_500_000)}{}]}`
    expect(failed(`{"data":[{"embedding":[1]}],"usage":${usage}}`)).toBe("UpstreamFailed")
  })

  it("contains no unknown members of the provider", () => {
    const { body, content, usage } = accepted(
      list([item([0.5], { provider: "acme" })], {
        id: "acme-1",
        provider: "acme",
        usage: { prompt_tokens: 3, cost: 9 }
      })
    )
    expect(JSON.parse(body)).toEqual({
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.5] }],
      model: "public",
      usage: { prompt_tokens: 3, total_tokens: 3 }
    })
    expect(content()).toBe("")
    expect(usage).toMatchObject({ prompt: { input: 3n, cacheRead: 0n }, output: 0n })
  })

  it("keeps every digit of an embedding", () => {
    const digits = "[ -0.00000000000000000012345678901234567890,1E-7, 0.10 ]"
    const { body } = accepted(`{"data":[{"embedding":${digits},"index":0}]}`)
    expect(body).toBe(
      `{"object":"list","data":[{"object":"embedding","index":0,"embedding":${digits}}],"model":"public"}`
    )
  })

  it("can contain base64 embeddings", () => {
    const { body } = accepted(list([item("AAAAPwAAgL8=")]))
    expect(JSON.parse(body)).toMatchObject({ data: [{ embedding: "AAAAPwAAgL8=" }] })
  })

  it("keeps the provider's order and indexes", () => {
    const { body } = accepted(list([item([1], { index: 1 }), item([2]), { embedding: [3] }]), 3)
    const { data } = JSON.parse(body) as { readonly data: ReadonlyArray<unknown> }
    expect(data).toEqual([item([1], { index: 1 }), item([2]), item([3], { index: 2 })])
  })

  it.each([
    ["`prompt_tokens` beside another `total_tokens`", { prompt_tokens: 4, total_tokens: 5 }, 4n],
    ["`total_tokens` if `prompt_tokens` is missing", { total_tokens: 5 }, 5n],
    ["a `prompt_tokens` of 0", { prompt_tokens: 0 }, 0n],
    ["`prompt_tokens` beside `completion_tokens`", { prompt_tokens: 4, completion_tokens: 9, total_tokens: 13 }, 4n]
  ])("reports the prompt tokens from %s", (_, usage, input) => {
    expect(accepted(list([item()], { usage })).usage).toMatchObject({ prompt: { input }, output: 0n })
  })

  it.each([...emptyErrors])("is passed on if the provider adds an empty error: %j", (error) => {
    expect(accepted(list([item([1])], { error })).body).toBe(accepted(list([item([1])])).body)
  })

  it.each([[undefined], [null], [{}], [{ prompt_tokens: "3" }], [[]]])(
    "reports no usage if the provider's usage is %j",
    (usage) => {
      const { body, usage: reported } = accepted(list([item()], { usage }))
      expect(JSON.parse(body)).not.toHaveProperty("usage")
      expect(reported).toMatchObject({ prompt: undefined, output: undefined })
    }
  )

  it.each([
    ["a body that is not JSON", "oops"],
    ["a JSON array", "[]"],
    ["an object without `data`", { object: "list" }],
    ["`data` that is not an array", list({})],
    ["an empty `data` array", list([])],
    ["fewer embeddings than inputs", list([item()]), 2],
    ["more embeddings than inputs", list([item(), item()])],
    ["an item without an embedding", list([{ index: 0 }])],
    ["an item that is not an object", list([[0.5]])],
    ["an empty embedding", list([item([])])],
    ["an embedding that contains a string", list([item(["acme"])])],
    ["an embedding that contains null", list([item([null])])],
    ["an embedding that is an object", list([item({ float: [1] })])],
    ["an embedding that is a string but not base64", list([item("no embedding today")])],
    ["an error beside `data`", list([item()], { error: { message: "broken" } })],
    ["a truncated body", JSON.stringify(list([item()])).slice(0, -1)],
    ["text after the JSON object", `${JSON.stringify(list([item()]))} x`]
  ])("fails if the provider sends %s", (_, body, inputs = 1) => {
    expect(failed(body, inputs)).toBe("UpstreamFailed")
  })

  it.each([
    ["TechnicalLimit", { code: "rate_limit_exceeded" }],
    ["UpstreamRejected", { type: "invalid_request_error" }],
    ["RequestTooLarge", { code: 413 }]
  ])("fails with %s if the provider sends only an error", (tag, error) => {
    expect(failed({ error: { message: "acme says no", ...error } })).toBe(tag)
  })

  const vectors = FastCheck.array(
    FastCheck.array(FastCheck.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }),
    {
      minLength: 1,
      maxLength: 20
    }
  )
  const unknownMembers = FastCheck.dictionary(
    FastCheck.constantFrom("provider", "id", "x_acme", "created"),
    FastCheck.jsonValue()
  )

  property("contains every vector unchanged", [vectors, unknownMembers], (all, more) => {
    const data = all.map((embedding, index) => ({ ...more, object: "embedding", index, embedding }))
    const { body } = accepted({ ...more, ...list(data) }, all.length)
    const expected = data.map(({ object, index, embedding }) => ({ object, index, embedding }))
    const usage = { prompt_tokens: 3, total_tokens: 3 }
    return body === JSON.stringify({ object: "list", data: expected, model: "public", usage })
  })

  property("with random text as an embedding causes no exception", [FastCheck.string()], (body) =>
    Either.isEither(translated(`{"data":[{"embedding":${body}}]}`))
  )
})
