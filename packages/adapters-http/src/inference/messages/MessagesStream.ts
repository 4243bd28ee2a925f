/**
 * Passes on the events of a message, each as it came but for what names the supplier:
 *
 *     message_start ─▶ content_block_start, _delta, _stop ... ─▶ message_delta ─▶ message_stop
 *
 * Anthropic's clients go by the `event:` line, so it is written whether or not the supplier did; what is no event of
 * the protocol, as the tail some suppliers add, would break them and is dropped. The content reported is read off the
 * very events that are written.
 */
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import {
  contentOfEvent,
  type Figures,
  foldFigures,
  noFigures,
  reportedBy
} from "@tollgate/domain/inference/MessagesDelivered"
import type { SseEvent } from "../../wire/SseDecoder.ts"
import { refusalIn, refusalOfError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseFailure, StreamTranslator, Translation } from "../relay/RelayProtocol.ts"
import { eventWithoutTraces, type OurNames } from "./ProviderTraces.ts"

const EVENTS: ReadonlySet<string> = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
  "ping"
])

const nothing: Translation = { frames: "", content: "", usage: undefined, end: undefined }

export class MessagesStream implements StreamTranslator {
  readonly #names: OurNames
  #figures: Figures = noFigures
  #started = false
  /** Why the message ends was said: all that is missing is the last event. */
  #stopped = false
  #over = false

  constructor(names: OurNames) {
    this.#names = names
  }

  translate(event: SseEvent): Translation {
    if (this.#over) return nothing
    const given = read(event.data)
    if (given === undefined) return isForeign(event) ? nothing : this.#break(failure("an event that is no JSON object"))
    if (event.event === "error") return this.#break(refusalOfError(given.error ?? given))
    const broken = refusalIn(given)
    if (broken !== undefined) return this.#break(broken)
    const type = asText(given.type) || event.event
    if (!EVENTS.has(type)) return nothing
    try {
      return this.#event(type, given, event.data)
    } catch {
      return this.#break(failure("an event that nests too deep"))
    }
  }

  close(): Translation {
    if (this.#over) return nothing
    return this.#stopped ? this.#event("message_stop", STOP, JSON.stringify(STOP)) : this.#break(failure("ended early"))
  }

  #event(type: string, given: JsonObject, data: string): Translation {
    if (type === "ping" && !this.#started) return nothing
    if ((type === "message_start") === this.#started) return this.#break(failure(`${type} out of turn`))
    const typed = given.type === type ? given : { ...given, type }
    const event = eventWithoutTraces(complete(typed), this.#names)
    const known = this.#figures
    this.#started = true
    this.#figures = foldFigures(known, typed)
    this.#stopped ||= type === "message_delta" && isThere(asObject(event.delta)?.stop_reason)
    this.#over = type === "message_stop"
    return {
      frames: `event: ${type}\ndata: ${event === given ? inOneLine(data) : JSON.stringify(event)}\n\n`,
      content: contentOfEvent(event),
      usage: this.#figures === known ? undefined : reportedBy(this.#figures),
      end: this.#over ? "complete" : undefined
    }
  }

  #break(end: ResponseFailure): Translation {
    this.#over = true
    return { ...nothing, end }
  }
}

const STOP = { type: "message_stop" }

const read = (data: string): JsonObject | undefined => {
  if (data === "") return {}
  try {
    return asObject(JSON.parse(data))
  } catch {
    return undefined
  }
}

/** OpenAI's last word, or an event that says itself that it is none of ours. */
const isForeign = ({ event, data }: SseEvent): boolean =>
  data.startsWith("[DONE]") || (event !== "" && event !== "error" && !EVENTS.has(event))

/**
 * With the members that clients cannot do without. Usage that was not reported is told as none; it is counted for the
 * charge all the same.
 */
const complete = (event: JsonObject): JsonObject => {
  if (event.type === "message_start") return { ...event, message: beginning(asObject(event.message) ?? {}) }
  const lacksUsage = event.type === "message_delta" && asObject(event.usage) === undefined
  return lacksUsage ? { ...event, usage: { output_tokens: 0 } } : event
}

const beginning = (message: JsonObject): JsonObject => ({
  ...message,
  type: "message",
  role: "assistant",
  content: asArray(message.content),
  usage: asObject(message.usage) ?? { input_tokens: 0, output_tokens: 0 }
})

/** A line break can only stand between the tokens of JSON, where a blank is as good. */
const inOneLine = (data: string): string => (data.includes("\n") ? data.replaceAll("\n", " ") : data).trim()

const failure = (cause: string): UpstreamFailed => new UpstreamFailed({ cause })

const isThere = (value: unknown): boolean => value !== undefined && value !== null
