/**
 * Relays the events of a responses stream, one by one, as they are: a frame changes only where it names the model or
 * the supplier.
 *
 *     response.created ... ─▶ response.completed | response.incomplete
 *
 * Events of other kinds are left out: pings, and whatever a supplier tells its own clients.
 */
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { contentOfEvent, contentOfResponse, usageOfEvent } from "@tollgate/domain/inference/ResponsesDelivered"
import type { RelayError } from "../../wire/InferenceErrors.ts"
import { withoutSupplierMembers } from "../../wire/ProviderMembers.ts"
import type { SseEvent } from "../../wire/SseDecoder.ts"
import type { ResponseContext, ResponseFailure, StreamTranslator, Translation } from "../relay/RelayProtocol.ts"
import { frameOf, frameWith } from "./ResponseFrame.ts"
import { cleanItem, cleanPart, cleanResponse } from "./ResponseObject.ts"
import { begunResponse, failureFrames } from "./ResponsesFailure.ts"
import { refusalInEvent } from "./ResponsesRefusal.ts"

/** Anything else could break out of the `event:` line. */
const EVENT_TYPE = /^response\.[\w.-]+$/
const COMPLETE: ReadonlySet<string> = new Set(["response.completed", "response.incomplete"])

const nothing: Translation = { frames: "", content: "", usage: undefined, end: undefined }

export class ResponsesStream implements StreamTranslator {
  readonly #context: ResponseContext
  /** As the client was told first, without what is long in it. */
  #response: JsonObject | undefined
  /** Of the last event told. */
  #number = -1
  #begun = false
  /** Content was told. */
  #spoke = false
  #over = false
  #fault: string | undefined

  constructor(context: ResponseContext) {
    this.#context = context
  }

  translate({ event: name, data }: SseEvent): Translation {
    if (this.#over || data === "" || data.startsWith("[DONE]")) return nothing
    try {
      const given = asObject(JSON.parse(data))
      return given === undefined ? this.#break(unreadable()) : this.#event(given, name, data)
    } catch {
      return this.#break(unreadable())
    }
  }

  close(): Translation {
    return this.#over ? nothing : this.#break(new UpstreamFailed({ cause: "ended in mid-answer" }))
  }

  fail(error: RelayError, requestId: string): string {
    const response = this.#response ?? begunResponse(this.#context)
    const told = { response, begun: this.#begun, nextNumber: this.#number + 1 }
    return failureFrames(told, error, requestId, this.#fault)
  }

  #event(given: JsonObject, name: string, data: string): Translation {
    const type = asText(given.type) || name
    const event = given.type === type ? given : { ...given, type }
    const usage = reportedIn(event)
    const refusal = refusalInEvent(event, name)
    if (refusal !== undefined) {
      this.#fault = refusal.fault
      return this.#break(refusal.error, usage)
    }
    if (!EVENT_TYPE.test(type)) return nothing
    const cleaned = this.#clean(event)
    const frames = cleaned === given ? frameWith(type, data) : frameOf({ ...cleaned, type })
    if (!COMPLETE.has(type)) {
      this.#tell(cleaned)
      return { frames, content: this.#say(contentOfEvent(cleaned)), usage, end: undefined }
    }
    const response = asObject(cleaned.response)
    if (response === undefined) return this.#break(new UpstreamFailed({ cause: `${type} without a response` }))
    this.#over = true
    // Nothing was said piece by piece: what the whole says is delivered with it.
    return { frames, content: this.#spoke ? "" : contentOfResponse(response), usage, end: "complete" }
  }

  #say(content: string): string {
    this.#spoke ||= content !== ""
    return content
  }

  /** The event itself when there is nothing to change. */
  #clean(event: JsonObject): JsonObject {
    let cleaned = withoutSupplierMembers(event)
    const response = asObject(event.response)
    if (response !== undefined) cleaned = { ...cleaned, response: cleanResponse(response, this.#context) }
    if (event.model !== undefined) cleaned = { ...cleaned, model: this.#context.publicName }
    const item = cleanItem(event.item, this.#context)
    if (item !== event.item) cleaned = { ...cleaned, item }
    const part = cleanPart(event.part, this.#context)
    return part === event.part ? cleaned : { ...cleaned, part }
  }

  #tell(event: JsonObject): void {
    const { sequence_number: number } = event
    this.#number = Number.isInteger(number) ? (number as number) : this.#number + 1
    this.#begun = true
    const response = asObject(event.response)
    if (response !== undefined) this.#response ??= { ...response, instructions: null, tools: [], output: [] }
  }

  #break(end: ResponseFailure, usage?: Translation["usage"]): Translation {
    this.#over = true
    return { frames: "", content: "", usage, end }
  }
}

const unreadable = (): UpstreamFailed => new UpstreamFailed({ cause: "a frame that is no JSON object" })

const reportedIn = (event: JsonObject): Translation["usage"] => {
  const usage = usageOfEvent(event)
  return usage.prompt === undefined && usage.output === undefined ? undefined : usage
}
