import { readEmbeddingsRequest } from "@tollgate/adapters-http/inference/embeddings/EmbeddingsRequest"
import { withUpstreamModel } from "@tollgate/adapters-http/inference/relay/UpstreamRequestParts"
import { runSlices } from "@tollgate/adapters-http/wire/Slices"
import { estimate } from "@tollgate/domain/inference/Estimate"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../../support/property.ts"

const read = (body: unknown) =>
  runSlices(readEmbeddingsRequest(Buffer.from(typeof body === "string" ? body : JSON.stringify(body))))
const accepted = (body: unknown) => Either.getOrThrow(read(body))
const refusedParam = (body: unknown) =>
  Either.match(read(body), { onLeft: ({ param }) => param, onRight: () => "accepted" })
const requestWith = (input: unknown, more: object = {}) => ({ model: "m", input, ...more })

const text = FastCheck.string({ minLength: 1 })
const token = FastCheck.nat(200_000)
const tokenArray = FastCheck.array(token, { minLength: 1, maxLength: 50 })
const many = <A>(item: FastCheck.Arbitrary<A>) => FastCheck.array(item, { minLength: 1, maxLength: 50 })
const anyInput = FastCheck.oneof<Array<FastCheck.Arbitrary<unknown>>>(text, many(text), tokenArray, many(tokenArray))

describe("an embeddings request", () => {
  it.each([
    ["a text", "hello", 1, 0],
    ["texts", ["a", "b", "c"], 3, 0],
    ["a token array", [1, 2, 3, 4], 1, 4],
    ["token arrays", [[1, 2], [3]], 2, 3],
    ["a token array with 8,191 tokens", Array.from({ length: 8_191 }, (_, i) => i), 1, 8_191],
    ["2,048 texts", Array.from({ length: 2_048 }, () => "a"), 2_048, 0]
  ])("has the number of inputs and of tokens in its token arrays: %s", (_, input, inputs, tokens) => {
    expect(accepted(requestWith(input))).toMatchObject({
      model: "m",
      streamed: false,
      inputs,
      size: { countedTokens: tokens }
    })
  })

  it.each([
    ["input", { model: "m" }],
    ["input", requestWith("")],
    ["input", requestWith([])],
    ["input", requestWith(null)],
    ["input", requestWith(5)],
    ["input", requestWith({ text: "a" })],
    ["input", requestWith(Array.from({ length: 2_049 }, () => "a"))],
    ["input", requestWith(Array.from({ length: 2_049 }, () => [1]))],
    ["input[1]", requestWith(["a", ""])],
    ["input[1]", requestWith(["a", 1])],
    ["input[1]", requestWith([1, "a"])],
    ["input[1]", requestWith([1, [1]])],
    ["input[1]", requestWith([[1], 1])],
    ["input[1]", requestWith([[1], []])],
    ["input[0]", requestWith([["a"]])],
    ["input[0]", requestWith([[[1]]])],
    ["input[0]", requestWith([null])],
    ["input[0]", requestWith([{ text: "a" }])],
    ["input[0]", requestWith([1.5])],
    ["input[0]", requestWith([-1])],
    ["input[0]", '{"model":"m","input":[1e3]}'],
    ["stream", requestWith("a", { stream: true })],
    ["stream", requestWith("a", { stream: "yes" })],
    ["model", { input: "a" }],
    ["input", '{"model":"m","input":"a","input":"b"}'],
    ["input", '{"model":"m","input":"a","Input":"b"}'],
    [null, '{"model":"m","input":["a"'],
    [null, "[]"]
  ])("is refused with the error param %s: %j", (param, body) => {
    expect(refusedParam(body)).toBe(param)
  })

  it.each([false, null])("is accepted with stream %j", (stream) => {
    expect(accepted(requestWith("a", { stream }))).toMatchObject({ streamed: false })
  })

  property(
    "is passed on byte for byte, except for the model",
    [anyInput, FastCheck.json(), text],
    (input, other, model) => {
      const before = `{ "x" : ${other},\n "model"`
      const after = `:"m" , "input": ${JSON.stringify(input)},"dimensions":1.0,"encoding_format":"odd"}`
      const sent = Buffer.from(withUpstreamModel(accepted(before + after), model)).toString()
      return sent === before + after.replace('"m"', () => JSON.stringify(model))
    }
  )

  property("has an estimate of at least one input token", [anyInput], (input) => {
    const { inputFloor, inputCeiling, output } = estimate(accepted(requestWith(input)).size)
    return inputFloor >= 1n && inputCeiling >= inputFloor && output === 0n
  })

  property("is estimated as the number of tokens in its token arrays", [many(tokenArray)], (input) => {
    const { inputFloor, inputCeiling } = estimate(accepted(requestWith(input)).size)
    return inputFloor === BigInt(input.flat().length) && inputCeiling === inputFloor
  })

  property("has a prompt that contains each text once", [anyInput], (input) => {
    const { text, separateTexts, extraTokens } = accepted(requestWith(input)).promptText()
    const inputs = [input].flat(2)
    const texts = inputs.filter((each) => typeof each === "string")
    return text === "" && extraTokens === inputs.length - texts.length && String(separateTexts) === String(texts)
  })
})
