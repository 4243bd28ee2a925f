import { translatedResponse } from "@tollgate/adapters-http/inference/embeddings/EmbeddingsResponse"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { law } from "../../../support/law.ts"

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

describe("a response of embeddings", () => {
  it("has the public name, its embeddings and its usage, and no other member", () => {
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
    expect(content).toBe("")
    expect(usage).toMatchObject({ prompt: { input: 3n, cacheRead: 0n }, output: 0n })
  })

  it("keeps every digit of an embedding", () => {
    const digits = "[ -0.00000000000000000012345678901234567890,1E-7, 0.10 ]"
    const { body } = accepted(`{"data":[{"embedding":${digits},"index":0}]}`)
    expect(body).toBe(
      `{"object":"list","data":[{"object":"embedding","index":0,"embedding":${digits}}],"model":"public"}`
    )
  })

  it("may be in base64", () => {
    const { body } = accepted(list([item("AAAAPwAAgL8=")]))
    expect(JSON.parse(body)).toMatchObject({ data: [{ embedding: "AAAAPwAAgL8=" }] })
  })

  it("keeps the order and the indexes of the provider, and counts where there are none", () => {
    const { body } = accepted(list([item([1], { index: 1 }), item([2]), { embedding: [3] }]), 3)
    const { data } = JSON.parse(body) as { readonly data: ReadonlyArray<unknown> }
    expect(data).toEqual([item([1], { index: 1 }), item([2]), item([3], { index: 2 })])
  })

  it.each([
    ["both figures", { prompt_tokens: 4, total_tokens: 5 }, 4n],
    ["the total alone", { total_tokens: 5 }, 5n],
    ["zero", { prompt_tokens: 0 }, 0n],
    ["a completion, which does not exist", { prompt_tokens: 4, completion_tokens: 9, total_tokens: 13 }, 4n]
  ])("reports the prompt from %s, and no output", (_, usage, input) => {
    expect(accepted(list([item()], { usage })).usage).toMatchObject({ prompt: { input }, output: 0n })
  })

  it.each([[undefined], [null], [{}], [{ prompt_tokens: "3" }], [[]]])("invents no usage: %j", (usage) => {
    const { body, usage: reported } = accepted(list([item()], { usage }))
    expect(JSON.parse(body)).not.toHaveProperty("usage")
    expect(reported).toMatchObject({ prompt: undefined, output: undefined })
  })

  it.each([
    ["no JSON", "oops"],
    ["an array", "[]"],
    ["no data", { object: "list" }],
    ["data of another kind", list({})],
    ["no embeddings", list([])],
    ["fewer embeddings than inputs", list([item()]), 2],
    ["more embeddings than inputs", list([item(), item()])],
    ["an item without an embedding", list([{ index: 0 }])],
    ["an item that is not an object", list([[0.5]])],
    ["an empty embedding", list([item([])])],
    ["an embedding of words", list([item(["acme"])])],
    ["an embedding of nulls", list([item([null])])],
    ["an embedding that is an object", list([item({ float: [1] })])],
    ["a text that is not base64", list([item("no embedding today")])],
    ["an error beside the data", list([item()], { error: { message: "broken" } })],
    ["a body that ends early", JSON.stringify(list([item()])).slice(0, -1)],
    ["a body that continues", `${JSON.stringify(list([item()]))} x`]
  ])("is a failure of the provider: %s", (_, body, inputs = 1) => {
    expect(failed(body, inputs)).toBe("UpstreamFailed")
  })

  it.each([
    ["TechnicalLimit", { code: "rate_limit_exceeded" }],
    ["UpstreamRejected", { type: "invalid_request_error" }],
    ["RequestTooLarge", { code: 413 }]
  ])("is a %s under a good status", (tag, error) => {
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

  law(
    "carries any vectors unchanged, and nothing of the members around them",
    [vectors, unknownMembers],
    (all, more) => {
      const data = all.map((embedding, index) => ({ ...more, object: "embedding", index, embedding }))
      const { body } = accepted({ ...more, ...list(data) }, all.length)
      const expected = data.map(({ object, index, embedding }) => ({ object, index, embedding }))
      const usage = { prompt_tokens: 3, total_tokens: 3 }
      return body === JSON.stringify({ object: "list", data: expected, model: "public", usage })
    }
  )

  law("is refused or translated, and never throws, for any bytes", [FastCheck.string()], (body) =>
    Either.isEither(translated(`{"data":[{"embedding":${body}}]}`))
  )
})
