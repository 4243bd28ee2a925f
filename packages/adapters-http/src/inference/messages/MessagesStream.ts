/**
 * `MessagesStream` passes on the events of a streamed message, in this order:
 *
 *     message_start ─▶ content_block_start, _delta, _stop ... ─▶ message_delta ─▶ message_stop
 *
 * JSON members that identify the provider are redacted, and missing members that clients require are added. Anthropic's
 * clients read the `event:` line, so it is always written. Events that are not in this protocol, such as the end mark
 * of another protocol, are dropped because clients fail on them. The `content` of a translation is read from the events
 * that are written.
 */
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import {
  contentOfEvent,
  countsAfterEvent,
  noCounts,
  reportedBy,
  type TokenCounts
} from "@tollgate/domain/inference/MessagesDelivered"
import { isHeartbeat, objectIn, type SseEvent } from "../../wire/SseDecoder.ts"
import { refusalIn, refusalOfError, withoutEmptyError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, ResponseFailure, StreamTranslator, Translation } from "../relay/RelayProtocol.ts"
import { type PublicNames, publicNamesOf, redactedEvent } from "./MessagesRedaction.ts"

const EVENTS: ReadonlySet<string> = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
  "ping"
])

const noOutput: Translation = { frames: "", content: "", usage: undefined, end: undefined }

export class MessagesStream implements StreamTranslator {
  readonly #names: PublicNames
  #counts: TokenCounts = noCounts
  #started = false
  /** True if a stop reason was passed on. After a stop reason, `message_stop` is added if the provider omits it. */
  #stopped = false
  #ended = false

  constructor(context: ResponseContext) {
    this.#names = publicNamesOf(context)
  }

  translate(event: SseEvent): Translation {
    if (this.#ended) return noOutput
    const given = event.data === "" ? {} : objectIn(event.data)
    if (given === undefined) {
      const isDropped = isForeign(event) || isHeartbeat(event)
      return isDropped ? noOutput : this.#fail(failure("an event is not a JSON object"))
    }
    if (event.event === "error") return this.#fail(refusalOfError(given.error ?? given))
    const type = asText(given.type) || event.event
    const accepted = EVENTS.has(type) ? withoutEmptyError(given) : given
    const refusal = refusalIn(accepted)
    if (refusal !== undefined) return this.#fail(refusal)
    if (!EVENTS.has(type)) return noOutput
    try {
      return this.#event(type, accepted, accepted === given ? event.data : JSON.stringify(accepted))
    } catch {
      return this.#fail(failure("an event has too many nested levels"))
    }
  }

  close(): Translation {
    if (this.#ended) return noOutput
    return this.#stopped
      ? this.#event("message_stop", STOP, JSON.stringify(STOP))
      : this.#fail(failure("the stream ended early"))
  }

  #event(type: string, given: JsonObject, data: string): Translation {
    if (type === "ping" && !this.#started) return noOutput
    if ((type === "message_start") === this.#started) return this.#fail(failure(`the event ${type} is out of order`))
    const typed = given.type === type ? given : { ...given, type }
    const event = redactedEvent(complete(typed), this.#names)
    const known = this.#counts
    this.#started = true
    this.#counts = countsAfterEvent(known, typed)
    this.#stopped ||= type === "message_delta" && isPresent(asObject(event.delta)?.stop_reason)
    this.#ended = type === "message_stop"
    return {
      frames: `event: ${type}\ndata: ${event === given ? inOneLine(data) : JSON.stringify(event)}\n\n`,
      content: contentOfEvent(event),
      usage: this.#counts === known ? undefined : reportedBy(this.#counts),
      end: this.#ended ? "complete" : undefined
    }
  }

  #fail(end: ResponseFailure): Translation {
    this.#ended = true
    return { ...noOutput, end }
  }
}

const STOP = { type: "message_stop" }

/** Returns true for the end mark of the chat protocol, and for an event whose type is not in this protocol. */
const isForeign = ({ event, data }: SseEvent): boolean =>
  data.startsWith("[DONE]") || (event !== "" && event !== "error" && !EVENTS.has(event))

/** Adds the members that clients require. A missing usage is added as 0; the charge does not use this 0. */
const complete = (event: JsonObject): JsonObject => {
  if (event.type === "message_start") return { ...event, message: startOf(asObject(event.message) ?? {}) }
  const lacksUsage = event.type === "message_delta" && asObject(event.usage) === undefined
  return lacksUsage ? { ...event, usage: { output_tokens: 0 } } : event
}

const startOf = (message: JsonObject): JsonObject => ({
  ...message,
  type: "message",
  role: "assistant",
  content: asArray(message.content),
  usage: asObject(message.usage) ?? { input_tokens: 0, output_tokens: 0 }
})

/**
 * Joins the lines of a JSON text. A JSON text has line breaks only between JSON tokens, where a space means the same.
 */
const inOneLine = (data: string): string => (data.includes("\n") ? data.replaceAll("\n", " ") : data).trim()

const failure = (cause: string): UpstreamFailed => new UpstreamFailed({ cause })

const isPresent = (value: unknown): boolean => value !== undefined && value !== null
