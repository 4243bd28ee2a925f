import { asObject } from "@tollgate/domain/inference/Json"
import { contentOfEvent } from "@tollgate/domain/inference/ResponsesDelivered"
import { FastCheck } from "effect"
import { describe } from "vitest"
import { property } from "../../../support/property.ts"
import { begun, message, responsesUsage, type WireEvent, wireText } from "../../../support/upstream/ResponsesWire.ts"
import { translatedStream } from "./TranslatedStream.ts"

const SECRET = "sup3r-secret"

const text = FastCheck.fullUnicodeString({ maxLength: 12 })
const traces = {
  model: SECRET,
  provider: SECRET,
  service_tier: SECRET,
  system_fingerprint: SECRET,
  cost: SECRET,
  x_provider: { [SECRET]: SECRET }
}
const providerResponse = {
  ...begun({ model: SECRET }),
  ...traces,
  billing: { payer: SECRET },
  output: [{ ...message("x"), provider: SECRET }],
  usage: { ...responsesUsage(3, 2), cost: SECRET, input_tokens_details: { cached_tokens: 1, [SECRET]: SECRET } }
}
const event: FastCheck.Arbitrary<WireEvent> = FastCheck.oneof(
  FastCheck.constantFrom("created", "in_progress", "queued").map((kind) => ({
    type: `response.${kind}`,
    response: providerResponse
  })),
  {
    weight: 6,
    arbitrary: FastCheck.record({
      type: FastCheck.constantFrom("output_text", "refusal", "reasoning_text", "function_call_arguments", "new").map(
        (kind) => `response.${kind}.delta`
      ),
      delta: text,
      obfuscation: FastCheck.constant(SECRET)
    })
  },
  FastCheck.record({
    type: FastCheck.constantFrom("response.output_item.added", "response.output_item.done"),
    item: FastCheck.record({
      type: FastCheck.constant("function_call"),
      name: text,
      provider: FastCheck.constant(SECRET)
    })
  }),
  FastCheck.record({
    type: FastCheck.constantFrom("response.output_text.done", "response.content_part.done"),
    text,
    part: FastCheck.constant({ type: "output_text", text: "x", ...traces })
  }),
  FastCheck.constantFrom("ping", "keepalive", SECRET).map((type) => ({ type, ...traces }))
)
const ending = FastCheck.constantFrom<ReadonlyArray<WireEvent>>(
  [{ type: "response.completed", response: providerResponse }],
  [{ type: "response.incomplete", response: providerResponse }],
  [
    {
      type: "response.failed",
      response: { ...providerResponse, status: "failed", error: { code: SECRET, message: SECRET } }
    }
  ],
  [{ type: "error", code: SECRET, message: SECRET }],
  [{ type: "error", error: { code: SECRET, message: SECRET } }],
  []
)
const sent = FastCheck.tuple(FastCheck.array(event, { maxLength: 8 }), ending).map(([events, last]) =>
  Buffer.from([...events, ...last].map(wireText).join(""))
)

describe("a translated responses stream", () => {
  property("never identifies the provider", [sent], (bytes) => !translatedStream(bytes).text.includes(SECRET))

  property("reports the content of its events", [sent], (bytes) => {
    const { content, events } = translatedStream(bytes)
    const written = events.map(contentOfEvent).join("")
    // The response in the last event has the content `x`, which counts only if no earlier event had content.
    return content === written || (written === "" && content === "x")
  })

  property("has one ending: `response.completed`, `response.incomplete` or `response.failed`", [sent], (bytes) => {
    const { events, end } = translatedStream(bytes)
    const [last, lastButOne] = events.map(({ type }) => type).reverse()
    const endings = events.filter(({ type }) => /^response\.(completed|incomplete|failed)$/.test(String(type)))
    return (
      endings.length === 1 &&
      (end === "complete"
        ? last === "response.completed" || last === "response.incomplete"
        : last === "error" && lastButOne === "response.failed" && asObject(events.at(-1)?.error) !== undefined)
    )
  })

  property("names the model by its public name", [sent], (bytes) =>
    translatedStream(bytes).events.every(
      ({ model, response }) =>
        (model === undefined || model === "public-model") &&
        (response === undefined || asObject(response)?.model === "public-model")
    )
  )

  property("keeps its frames when more bytes arrive", [sent, FastCheck.nat()], (bytes, at) => {
    const whole = translatedStream(bytes)
    const part = translatedStream(bytes.subarray(0, at % (bytes.length + 1)))
    return whole.before.startsWith(part.before) && whole.content.startsWith(part.content)
  })
})
