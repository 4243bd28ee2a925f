import { messagesProtocol } from "@tollgate/adapters-http/inference/messages/MessagesProtocol"
import { asObject } from "@tollgate/domain/inference/Json"
import { contentOfEvent } from "@tollgate/domain/inference/MessagesDelivered"
import { Either, FastCheck } from "effect"
import { describe } from "vitest"
import { property } from "../../../support/property.ts"
import { errorOf, messageStop, ping, type WireEvent } from "../../../support/upstream/MessagesWire.ts"
import { context, eventsOf, sse, streamed, translatedStream } from "./TranslatedStream.ts"

const SECRET = "sup3r-secret"

const text = FastCheck.fullUnicodeString({ maxLength: 12 })
const count = FastCheck.option(FastCheck.nat(1_000), { nil: undefined })
const traces = { provider: SECRET, x_request_id: SECRET, model: SECRET }

const usage = FastCheck.record({ input_tokens: count, cache_read_input_tokens: count, output_tokens: count }).map(
  (figures) => ({ ...figures, service_tier: SECRET, iterations: [{ type: "message", model: SECRET }] })
)
const block = FastCheck.oneof(
  FastCheck.record({ type: FastCheck.constant("text"), text, provider: FastCheck.constant(SECRET) }),
  FastCheck.record({ type: FastCheck.constant("thinking"), thinking: text, signature: text }),
  FastCheck.record({
    type: FastCheck.constant("tool_use"),
    id: FastCheck.constantFrom("toolu_1", "toolu_bdrk_1"),
    name: text,
    input: FastCheck.dictionary(text, text, { maxKeys: 2 })
  })
)
const delta = FastCheck.oneof(
  FastCheck.record({ type: FastCheck.constant("text_delta"), text }),
  FastCheck.record({ type: FastCheck.constant("thinking_delta"), thinking: text }),
  FastCheck.record({ type: FastCheck.constant("signature_delta"), signature: text }),
  FastCheck.record({
    type: FastCheck.constant("input_json_delta"),
    partial_json: text,
    vendor: FastCheck.constant(SECRET)
  })
)
const index = FastCheck.nat(2)
const reason = FastCheck.constantFrom(null, "end_turn", "tool_use")

const start = usage.map((usage) => ({
  type: "message_start",
  message: { id: SECRET, type: "message", role: "assistant", content: [], ...traces, usage },
  ...traces
}))
const middle: FastCheck.Arbitrary<WireEvent> = FastCheck.oneof(
  {
    weight: 2,
    arbitrary: FastCheck.tuple(index, block).map(([index, content_block]) => ({
      type: "content_block_start",
      index,
      content_block,
      ...traces
    }))
  },
  {
    weight: 8,
    arbitrary: FastCheck.tuple(index, delta).map(([index, delta]) => ({ type: "content_block_delta", index, delta }))
  },
  { weight: 1, arbitrary: index.map((index) => ({ type: "content_block_stop", index })) },
  {
    weight: 1,
    arbitrary: FastCheck.tuple(reason, usage).map(([stop_reason, usage]) => ({
      type: "message_delta",
      delta: { stop_reason, ...traces },
      usage
    }))
  },
  { weight: 1, arbitrary: FastCheck.constant(ping) },
  { weight: 1, arbitrary: FastCheck.constant({ type: SECRET, ...traces }) }
)
const last = FastCheck.constantFrom<ReadonlyArray<WireEvent>>([messageStop], [], [errorOf(SECRET, SECRET)])

const events = FastCheck.tuple(start, FastCheck.array(middle, { maxLength: 8 }), last).map(([start, middle, last]) => [
  start,
  ...middle,
  ...last
])
/** The bytes of a stream, with or without `event:` lines. */
const sent = FastCheck.tuple(events, FastCheck.boolean()).map(([events, named]) =>
  Buffer.from(named ? sse(...events) : sse(...events).replace(/^event: .*\n/gm, ""))
)

const writtenEvents = (bytes: Buffer) => eventsOf(translatedStream([bytes]).text)
const typesOf = (bytes: Buffer) => writtenEvents(bytes).map(({ type }) => type)

describe("a translated messages stream", () => {
  property("reports the content of its events", [sent], (bytes) => {
    const { content, text } = translatedStream([bytes])
    return content === eventsOf(text).map(contentOfEvent).join("")
  })

  property("never identifies the provider", [sent], (bytes) => {
    const { text } = translatedStream([bytes])
    return !text.includes(SECRET) && !text.includes("bdrk")
  })

  property("has one `message_start`", [sent], (bytes) => {
    const [first, ...others] = writtenEvents(bytes)
    return (
      first?.type === "message_start" &&
      asObject(first.message)?.model === context.publicName &&
      others.every(({ type }) => type !== "message_start")
    )
  })

  property("ends with `message_stop` if and only if it is complete", [sent], (bytes) => {
    const stops = typesOf(bytes).filter((type) => type === "message_stop").length
    return translatedStream([bytes]).end === "complete"
      ? stops === 1 && typesOf(bytes).at(-1) === "message_stop"
      : stops === 0
  })

  property("keeps all content", [events], (events) => {
    const known = events.filter(({ type }) => type !== SECRET && type !== "error")
    return translatedStream([Buffer.from(sse(...events))]).content === known.map(contentOfEvent).join("")
  })

  property("keeps its frames when more bytes arrive", [sent, FastCheck.nat()], (bytes, at) => {
    const whole = translatedStream([bytes])
    const part = translatedStream([bytes.subarray(0, at % (bytes.length + 1))])
    return part.end === "complete" || (whole.text.startsWith(part.text) && whole.content.startsWith(part.content))
  })
})

const message = FastCheck.record({
  id: FastCheck.constant("msg_1"),
  type: FastCheck.constant("message"),
  content: FastCheck.array(block, { maxLength: 3 }),
  stop_reason: reason,
  model: FastCheck.constant(SECRET),
  usage
})

describe("a whole message", () => {
  property("becomes a stream with the same content", [message], (message) => {
    const body = Buffer.from(JSON.stringify(message))
    const whole = Either.getOrThrow(messagesProtocol.translate(streamed, context, body))
    const stream = Either.getOrThrow(messagesProtocol.stream.fromWholeResponse(streamed, context, body))
    return (
      stream.end === "complete" &&
      stream.content === whole.content() &&
      stream.content === eventsOf(stream.frames).map(contentOfEvent).join("") &&
      String(Object.values(stream.usage?.prompt ?? {})) === String(Object.values(whole.usage?.prompt ?? {})) &&
      stream.usage?.output === whole.usage?.output
    )
  })

  property("never identifies the provider", [message], (message) => {
    const body = Buffer.from(JSON.stringify({ ...message, ...traces }))
    const whole = Either.getOrThrow(messagesProtocol.translate(streamed, context, body))
    const stream = Either.getOrThrow(messagesProtocol.stream.fromWholeResponse(streamed, context, body))
    return [whole.body, stream.frames].every((text) => !text.includes(SECRET) && !text.includes("bdrk"))
  })
})
