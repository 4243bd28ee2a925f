/**
 * `ResponsesStream` passes on the `response.*` events of a stream:
 *
 *     response.created ... ─▶ response.completed | response.incomplete
 *
 * Members that identify the provider are removed or replaced. Events of other types are dropped, such as pings and
 * events that only the provider's own clients understand.
 */
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { contentOfEvent, contentOfResponse, usageOfEvent } from "@tollgate/domain/inference/ResponsesDelivered"
import type { RelayError } from "../../wire/InferenceErrors.ts"
import { withoutProviderMembers } from "../../wire/Redaction.ts"
import { isHeartbeat, objectIn, type SseEvent } from "../../wire/SseDecoder.ts"
import { withoutEmptyError } from "../../wire/UpstreamRefusal.ts"
import type { ResponseContext, ResponseFailure, StreamTranslator, Translation } from "../relay/RelayProtocol.ts"
import { failureFrames, refusalInEvent, startedResponse } from "./ResponsesErrors.ts"
import { frameOf, frameWith } from "./ResponsesEvents.ts"
import { redactedItem, redactedPart, redactedResponse } from "./ResponsesRedaction.ts"

/** The allowed event types. A type with a line break could add another line to the frame. */
const EVENT_TYPE = /^response\.[\w.-]+$/
const COMPLETE: ReadonlySet<string> = new Set(["response.completed", "response.incomplete"])

const noOutput: Translation = { frames: "", content: "", usage: undefined, end: undefined }

/** The part of the stream that was translated for the client. */
interface Translated {
  /** The first response object, without its instructions, tools and output, which can be long. */
  readonly response: JsonObject | undefined
  /** The sequence number of the last event; -1 before the first event. */
  readonly number: number
  readonly started: boolean
}

export class ResponsesStream implements StreamTranslator {
  readonly #context: ResponseContext
  #translated: Translated = { response: undefined, number: -1, started: false }
  /** The part before the last event. The last event may be held back, and is then not sent if the stream fails. */
  #translatedBefore = this.#translated
  #hasContent = false
  #ended = false
  #fault: string | undefined

  constructor(context: ResponseContext) {
    this.#context = context
  }

  translate(event: SseEvent): Translation {
    const { data } = event
    if (this.#ended || data === "" || data.startsWith("[DONE]")) return noOutput
    this.#translatedBefore = this.#translated
    try {
      const given = objectIn(data)
      if (given === undefined) return isHeartbeat(event) ? noOutput : this.#fail(unreadable())
      return this.#event(given, event.event, data)
    } catch {
      return this.#fail(unreadable())
    }
  }

  close(): Translation {
    return this.#ended ? noOutput : this.#fail(new UpstreamFailed({ cause: "the stream ended early" }))
  }

  fail(error: RelayError, requestId: string, isLastUnsent: boolean): string {
    const { number, response, started } = isLastUnsent ? this.#translatedBefore : this.#translated
    const sent = { response: response ?? startedResponse(this.#context), started, nextNumber: number + 1 }
    return failureFrames(sent, error, requestId, this.#fault)
  }

  #event(given: JsonObject, name: string, data: string): Translation {
    const type = asText(given.type) || name
    const accepted = EVENT_TYPE.test(type) ? withoutEmptyErrors(given) : given
    const event = accepted.type === type ? accepted : { ...accepted, type }
    const usage = reportedIn(event)
    const refusal = refusalInEvent(event, name)
    if (refusal !== undefined) {
      this.#fault = refusal.fault
      return this.#fail(refusal.error, usage)
    }
    if (!EVENT_TYPE.test(type)) return noOutput
    const redacted = this.#redacted(event)
    const frames = redacted === given ? frameWith(type, data) : frameOf({ ...redacted, type })
    if (!COMPLETE.has(type)) {
      this.#record(redacted)
      return { frames, content: this.#recordContent(contentOfEvent(redacted)), usage, end: undefined }
    }
    const response = asObject(redacted.response)
    if (response === undefined) return this.#fail(new UpstreamFailed({ cause: `${type} has no response` }))
    this.#ended = true
    // A stream without deltas delivers its content only in the response object of the last event.
    return { frames, content: this.#hasContent ? "" : contentOfResponse(response), usage, end: "complete" }
  }

  #recordContent(content: string): string {
    this.#hasContent ||= content !== ""
    return content
  }

  /** Returns the redacted event. An event without a response object is returned unchanged if nothing is redacted. */
  #redacted(event: JsonObject): JsonObject {
    let redacted = withoutProviderMembers(event)
    const response = asObject(event.response)
    if (response !== undefined) redacted = { ...redacted, response: redactedResponse(response, this.#context) }
    if (event.model !== undefined) redacted = { ...redacted, model: this.#context.publicName }
    const item = redactedItem(event.item, this.#context)
    if (item !== event.item) redacted = { ...redacted, item }
    const part = redactedPart(event.part, this.#context)
    return part === event.part ? redacted : { ...redacted, part }
  }

  #record(event: JsonObject): void {
    const { sequence_number: number } = event
    const before = this.#translated
    const response = asObject(event.response)
    this.#translated = {
      number: Number.isInteger(number) ? (number as number) : before.number + 1,
      started: true,
      response: before.response ?? (response && { ...response, instructions: null, tools: [], output: [] })
    }
  }

  #fail(end: ResponseFailure, usage?: Translation["usage"]): Translation {
    this.#ended = true
    return { frames: "", content: "", usage, end }
  }
}

const withoutEmptyErrors = (given: JsonObject): JsonObject => {
  const event = withoutEmptyError(given)
  const response = asObject(event.response)
  const accepted = response && withoutEmptyError(response)
  return accepted === response ? event : { ...event, response: accepted }
}

const unreadable = (): UpstreamFailed => new UpstreamFailed({ cause: "an event is not a JSON object" })

const reportedIn = (event: JsonObject): Translation["usage"] => {
  const usage = usageOfEvent(event)
  return usage.prompt === undefined && usage.output === undefined ? undefined : usage
}
