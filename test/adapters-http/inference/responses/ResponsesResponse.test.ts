import { responsesProtocol } from "@tollgate/adapters-http/inference/responses/ResponsesProtocol"
import { contentOfEvent, contentOfResponse } from "@tollgate/domain/inference/ResponsesDelivered"
import { Either, FastCheck } from "effect"
import { accumulateResponse } from "openai/lib/responses/ResponseAccumulator"
import type { Response, ResponseStreamEvent } from "openai/resources/responses/responses"
import { describe, expect, it } from "vitest"
import { property } from "../../../support/property.ts"
import { emptyErrors } from "../../../support/upstream/EmptyErrors.ts"
import { functionCall, message, response, responsesUsage } from "../../../support/upstream/ResponsesWire.ts"
import { context, eventsOf, requestOf, typesOf } from "./TranslatedStream.ts"

const bytes = (body: unknown) => Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
const translated = (body: unknown) => responsesProtocol.translate(requestOf(), context, bytes(body))
const translatedJson = (body: unknown) => {
  const { body: json, content, usage } = Either.getOrThrow(translated(body))
  return { json: JSON.parse(json), content: content(), usage }
}
const asStream = (body: unknown) =>
  responsesProtocol.stream.fromWholeResponse(requestOf({ stream: true }), context, bytes(body))

const reasoning = {
  id: "rs_1",
  type: "reasoning",
  summary: [{ type: "summary_text", text: "hm" }],
  content: [{ type: "reasoning_text", text: "well" }],
  encrypted_content: "gAAA"
}
const refusal = { ...message("", "msg_2"), content: [{ type: "refusal", refusal: "no" }] }
const custom = {
  id: "ctc_1",
  type: "custom_tool_call",
  status: "completed",
  call_id: "call_2",
  name: "sh",
  input: "ls"
}
const search = { id: "ws_1", type: "web_search_call", status: "completed", action: { type: "search", query: "x" } }
const everything = [reasoning, message("Hello"), refusal, functionCall("look", '{"at":1}'), custom, search]

describe("a whole response", () => {
  it("has the public name of the model and the provider's id", () => {
    const given = response({ content: ["Hello"], usage: responsesUsage(7, 2, 3) })
    const { service_tier: _, ...expected } = given
    expect(translatedJson(given)).toEqual({
      json: { ...expected, model: "public-model" },
      content: "Hello",
      usage: { prompt: { input: 4n, cacheWrite: 0n, cacheRead: 3n }, output: 2n }
    })
  })

  it("gets a new id if the provider's does not begin with resp_", () => {
    const { json } = translatedJson({ id: "gen-17", output: [] })
    expect(json).toEqual({
      id: "resp_ours",
      object: "response",
      created_at: context.createdAtSeconds,
      model: "public-model",
      output: []
    })
  })

  it.each([...emptyErrors])("is passed on with null instead of an empty error: %j", (error) => {
    const given = response({ content: ["Hello"], usage: responsesUsage(7, 2) })
    expect(translatedJson({ ...given, error })).toEqual(translatedJson({ ...given, error: null }))
    expect(asStream({ ...given, error })).toEqual(asStream({ ...given, error: null }))
  })

  it("has no usage if the provider reported none", () => {
    const { json, usage } = translatedJson(response())
    expect(json.usage).toBeNull()
    expect(usage).toBeUndefined()
  })

  it("reports the content of every item", () => {
    expect(translatedJson(response({}, { output: everything })).content).toBe('hmwellHellonolook{"at":1}shls')
  })

  it("is accepted if it ends at its output limit", () => {
    const more = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] }
    expect(translatedJson(response({ usage: responsesUsage(7, 9) }, more)).usage?.output).toBe(9n)
  })

  const deep = `{"output":[{"content":${"[".repeat(50_000)}${"]".repeat(50_000)}}]}`
  it.each([
    ["an HTML page", "<html>Bad gateway</html>"],
    ["an empty body", ""],
    ["truncated JSON", '{"output":[{"mess'],
    ["an array", []],
    ["an object of another type", { object: "list", data: [] }],
    ["a response without output", response({}, { output: null })],
    ["JSON that is nested too deeply", deep],
    ["an error", { error: { message: "boom", code: 502 } }],
    ["a failed response", response({}, { status: "failed", error: { code: "server_error", message: "boom" } })],
    ["a failed response without a reason", response({}, { status: "failed" })],
    ["a cancelled response", response({}, { status: "cancelled" })],
    ["a response that has not ended", response({}, { status: "queued", output: [] })]
  ])("fails if the provider sends %s", (_, body) => {
    expect(translated(body)).toMatchObject({ _tag: "Left", left: { _tag: "UpstreamFailed" } })
    expect(asStream(body)).toMatchObject({ _tag: "Left", left: { _tag: "UpstreamFailed" } })
  })

  it.each([
    ["rate_limit_exceeded", "TechnicalLimit"],
    ["invalid_prompt", "UpstreamRejected"],
    ["image_content_policy_violation", "UpstreamRejected"]
  ])("with the error code %s fails with %s", (code, _tag) => {
    const failed = response({}, { status: "failed", error: { code, message: "boom" } })
    expect(translated(failed)).toMatchObject({ left: { _tag } })
  })
})

describe("a whole response as a stream", () => {
  it("consists of the events from response.created to response.completed", () => {
    const { frames, content, usage, end } = Either.getOrThrow(
      asStream(response({ content: ["Hello"], usage: responsesUsage(7, 2) }))
    )
    expect(typesOf(eventsOf(frames))).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed"
    ])
    expect({ content, output: usage?.output, end }).toEqual({ content: "Hello", output: 2n, end: "complete" })
  })

  const text = FastCheck.fullUnicodeString({ maxLength: 8 })
  const part = FastCheck.oneof(
    text.map((text) => ({ type: "output_text", text, annotations: [] })),
    text.map((refusal) => ({ type: "refusal", refusal }))
  )
  const item = FastCheck.oneof(
    FastCheck.array(part, { maxLength: 3 }).map((content) => ({ ...message(""), content })),
    FastCheck.tuple(text, text).map(([name, args]) => functionCall(name, args)),
    FastCheck.tuple(text, text).map(([name, input]) => ({ ...custom, name, input })),
    FastCheck.tuple(text, text).map(([summary, content]) => ({
      ...reasoning,
      summary: [{ type: "summary_text", text: summary }],
      content: [{ type: "reasoning_text", text: content }]
    })),
    FastCheck.constant(search)
  )
  property(
    "gives the official client the output of the whole response",
    [FastCheck.array(item, { maxLength: 5 }), FastCheck.constantFrom("completed", "incomplete")],
    (output, status) => {
      const given = response({ usage: responsesUsage(7, 2) }, { output, status })
      const events = eventsOf(Either.getOrThrow(asStream(given)).frames)
      let snapshot: Response | undefined
      let beforeLast: Response | undefined
      for (const event of events) {
        beforeLast = snapshot && structuredClone(snapshot)
        snapshot = accumulateResponse(event as unknown as ResponseStreamEvent, snapshot)
      }
      return (
        JSON.stringify(snapshot?.output) === JSON.stringify(output) &&
        JSON.stringify(beforeLast?.output) === JSON.stringify(output) &&
        snapshot?.status === status &&
        events.map(contentOfEvent).join("") === contentOfResponse(given) &&
        events.every(({ sequence_number }, i) => sequence_number === i)
      )
    },
    200
  )

  it("passes on items and parts of unknown types", () => {
    // Every JavaScript object has members with the names of these types.
    const item = { id: "x_1", type: "constructor", content: [{ type: "toString", text: "hi" }] }
    const events = eventsOf(Either.getOrThrow(asStream(response({}, { output: [item] }))).frames)
    expect(events.find(({ type }) => type === "response.output_item.done")).toMatchObject({ item })
  })

  it("adds a missing id to an item", () => {
    const { id: _, ...withoutId } = message("Hello")
    const events = eventsOf(Either.getOrThrow(asStream(response({}, { output: [withoutId] }))).frames)
    const ids = events.flatMap(({ item_id }) => (item_id === undefined ? [] : [item_id]))
    expect(new Set(ids).size).toBe(1)
    expect(events.at(-1)).toMatchObject({ response: { output: [{ id: ids[0] }] } })
  })
})
