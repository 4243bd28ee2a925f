/**
 * Normalises one choice of a chat completion: its deltas or its message, its tool calls and its finish
 * reason.
 *
 * JSON members that identify the provider are removed. Members that clients require but some providers omit are added.
 */
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { withoutProviderMembers } from "../../wire/Redaction.ts"

/** Normalises the deltas of one choice. The deltas must be passed in the order of the stream. */
export class ChoiceDeltas {
  /** Undefined until a delta has `tool_calls`. Most streams have no tool calls, so they store no state for them. */
  #toolCalls: ToolCallDeltas | undefined
  /** True if a delta of this choice was passed on to the client. */
  started = false

  get hasToolCalls(): boolean {
    return this.#toolCalls?.any ?? false
  }

  /**
   * Returns the delta to pass on to the client; undefined if it is empty. Of the deltas that are passed on, the first
   * has a role and all others have none.
   */
  normalize(given: JsonObject): JsonObject | undefined {
    let delta = redacted(given)
    if (Array.isArray(delta.tool_calls)) {
      this.#toolCalls ??= new ToolCallDeltas()
      delta = { ...delta, tool_calls: this.#toolCalls.complete(delta.tool_calls) }
    }
    if (this.started && delta.role === undefined) return isEmpty(delta) ? undefined : delta
    const { role, ...rest } = delta
    if (isEmpty(rest) && (this.started || typeof role !== "string")) return undefined
    return { ...this.start(), ...rest }
  }

  /** Records that a delta is passed on. Returns the members to add to this delta: a role if it is the first delta. */
  start(): JsonObject {
    if (this.started) return {}
    this.started = true
    return { role: "assistant" }
  }
}

/** Normalises the message of a whole completion. */
export const normalizedMessage = (given: JsonObject): JsonObject => {
  const message = { ...redacted(given), role: "assistant" }
  if (!Array.isArray(given.tool_calls)) return message
  return { ...message, tool_calls: given.tool_calls.map(withType) }
}

const withType = (call: unknown): JsonObject => ({ type: "function", ...withoutProviderMembers(asObject(call) ?? {}) })

/**
 * Removes the members that identify the provider, also from reasoning details. All other members of reasoning details
 * are kept, because clients send reasoning details back in the next request.
 */
const redacted = (given: JsonObject): JsonObject => {
  const kept = withoutProviderMembers(given)
  if (!Array.isArray(kept.reasoning_details)) return kept
  const details = kept.reasoning_details.map((detail) => withoutProviderMembers(asObject(detail) ?? {}))
  return { ...kept, reasoning_details: details }
}

const isEmpty = (delta: JsonObject): boolean => {
  for (const name in delta) {
    const value = delta[name]
    if (value !== null && value !== "" && !(Array.isArray(value) && value.length === 0)) return false
  }
  return true
}

/**
 * The maximum number of tool calls whose state is stored for one choice, so that a faulty provider cannot fill the
 * memory. Real responses have far fewer tool calls.
 */
const MAX_REMEMBERED_CALLS = 1_000

/**
 * Completes the tool-call deltas of one choice. Clients use `index` to join the deltas of a call, and require a `type`
 * in the first delta of a call. Some providers omit the `index` or the `type`. Others send parallel calls with
 * different ids but the same `index`, so the later calls get other indexes.
 */
class ToolCallDeltas {
  readonly #indexOfId = new Map<string, number>()
  readonly #idOfIndex = new Map<number, string>()
  /** The index for the client of each index of the provider that was given to several calls. */
  readonly #movedTo = new Map<number, number>()
  readonly #started = new Set<number>()
  #last = -1
  #highest = -1

  get any(): boolean {
    return this.#last >= 0
  }

  complete(deltas: ReadonlyArray<unknown>): ReadonlyArray<JsonObject> {
    const completed: Array<JsonObject> = []
    for (const item of deltas) {
      const object = asObject(item)
      if (object === undefined) continue
      const delta = withoutProviderMembers(object)
      const index = this.#indexOf(delta)
      const first = !this.#started.has(index)
      if (this.#started.size < MAX_REMEMBERED_CALLS) this.#started.add(index)
      const type = delta.type ?? (first ? callTypeOf(delta) : undefined)
      completed.push(
        delta.index === index && type === delta.type
          ? delta
          : { ...delta, index, ...(type === undefined ? {} : { type }) }
      )
    }
    return completed
  }

  #indexOf(delta: JsonObject): number {
    const id = asText(delta.id)
    const given = asIndex(delta.index)
    const known = id === "" ? undefined : this.#indexOfId.get(id)
    const index =
      given === undefined
        ? (known ?? (this.#startsCall(delta, id) ? this.#highest + 1 : this.#last))
        : this.#indexFor(given, known, delta, id)
    if (id !== "") {
      if (known === undefined && this.#indexOfId.size < MAX_REMEMBERED_CALLS) this.#indexOfId.set(id, index)
      if (!this.#idOfIndex.has(index) && this.#idOfIndex.size < MAX_REMEMBERED_CALLS) this.#idOfIndex.set(index, id)
    }
    this.#last = index
    this.#highest = Math.max(this.#highest, index)
    return index
  }

  /** Returns the index for the client of a delta to which the provider gave the index `given`. */
  #indexFor(given: number, known: number | undefined, delta: JsonObject, id: string): number {
    const index = this.#movedTo.get(given) ?? given
    const other = this.#idOfIndex.get(index)
    if (id === "" || other === undefined || other === id) return index
    if (known !== undefined) return known
    if (nameIn(delta) === "" || this.#movedTo.size >= MAX_REMEMBERED_CALLS) return index
    this.#movedTo.set(given, this.#highest + 1)
    return this.#highest + 1
  }

  /**
   * Returns true if a delta without an index starts a new call: if it has a new id or a name, or is the first delta.
   */
  #startsCall(delta: JsonObject, id: string): boolean {
    return this.#last < 0 || id !== "" || nameIn(delta) !== ""
  }
}

const nameIn = (delta: JsonObject): string =>
  asText(asObject(delta.function)?.name) || asText(asObject(delta.custom)?.name)

const asIndex = (index: unknown): number | undefined =>
  typeof index === "number" && Number.isInteger(index) && index >= 0 ? index : undefined

const callTypeOf = (delta: JsonObject): string => (delta.custom === undefined ? "function" : "custom")

/** The finish reasons in OpenAI's specification. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "function_call"

/** Maps the known finish reasons of providers to the finish reasons for the client. */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["content_filter", "content_filter"],
  ["function_call", "function_call"],
  ["max_tokens", "length"],
  ["max_output_tokens", "length"],
  ["model_length", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["safety", "content_filter"],
  ["prohibited_content", "content_filter"],
  ["recitation", "content_filter"],
  ["sensitive", "content_filter"],
  ["refusal", "content_filter"]
])

/**
 * The finish reasons of a choice that the provider did not finish because of a fault of its own: `error` of several
 * providers, `insufficient_system_resource` of DeepSeek, `network_error` of Zhipu, and `abort` of vLLM and SGLang. Each
 * of them is a failure: with another finish reason, the client would take the part that it has for the whole.
 */
const FAULTS: ReadonlySet<string> = new Set(["error", "insufficient_system_resource", "network_error", "abort"])

/**
 * Returns the finish reason for the client, `error` if the choice failed, or undefined if the choice is unfinished. An
 * unknown value becomes `stop`.
 */
export const finishReasonOf = (given: unknown): FinishReason | "error" | undefined => {
  if (typeof given !== "string" || given === "") return undefined
  const reason = given.toLowerCase()
  return FAULTS.has(reason) ? "error" : (FINISH_REASONS.get(reason) ?? "stop")
}
