/**
 * What one choice says: the members of its deltas, or of its message, as the supplier gave them, without those that
 * tell about the supplier and with those that clients cannot do without.
 */
import { asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import { withoutSupplierMembers } from "../../wire/ProviderMembers.ts"
import { ToolCallPieces } from "./ToolCallPieces.ts"

/** The deltas of one choice, in order. */
export class ChatDeltas {
  readonly #calls = new ToolCallPieces()
  /** A delta was passed on. */
  begun = false

  get callsTools(): boolean {
    return this.#calls.any
  }

  /** The delta to pass on; undefined when nothing is in it. The first says the role, and no other does. */
  clean(given: JsonObject): JsonObject | undefined {
    let delta = withoutSupplierTraces(given)
    if (Array.isArray(delta.tool_calls)) delta = { ...delta, tool_calls: this.#calls.complete(delta.tool_calls) }
    if (this.begun && delta.role === undefined) return isEmpty(delta) ? undefined : delta
    const { role, ...said } = delta
    if (isEmpty(said) && (this.begun || typeof role !== "string")) return undefined
    return { ...this.begin(), ...said }
  }

  /** A delta that says no more than its place wants. */
  begin(): JsonObject {
    if (this.begun) return {}
    this.begun = true
    return { role: "assistant" }
  }
}

/** A whole message. */
export const cleanMessage = (given: JsonObject): JsonObject => {
  const message = { ...withoutSupplierTraces(given), role: "assistant" }
  if (!Array.isArray(given.tool_calls)) return message
  return { ...message, tool_calls: given.tool_calls.map(withType) }
}

const withType = (call: unknown): JsonObject => ({ type: "function", ...withoutSupplierMembers(asObject(call) ?? {}) })

/** Reasoning comes back with the next request, so it stays whole, but for what names the supplier. */
const withoutSupplierTraces = (given: JsonObject): JsonObject => {
  const cleaned = withoutSupplierMembers(given)
  if (!Array.isArray(cleaned.reasoning_details)) return cleaned
  const details = cleaned.reasoning_details.map((detail) => withoutSupplierMembers(asObject(detail) ?? {}))
  return { ...cleaned, reasoning_details: details }
}

const isEmpty = (delta: JsonObject): boolean => {
  for (const name in delta) {
    const value = delta[name]
    if (value !== null && value !== "" && !(Array.isArray(value) && value.length === 0)) return false
  }
  return true
}
