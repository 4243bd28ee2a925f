/**
 * Derives the reason of a write-off from the settlement (docs/reference/billing.md#c9). No column stores the reason.
 */
import type { UsageSource } from "../ledger/Settlement.ts"
import type { Ending } from "./Charge.ts"
import type { Protocol } from "./InferenceRequest.ts"

/** Why the cost of a request exceeded the balances. */
export type WriteOffReason =
  /** A text or embeddings response that was not streamed. Its cost is known only after the provider has finished. */
  | "whole_response"
  /**
   * A stream with usage that its provider reported, and whose cost exceeds its hold. If the provider reported only a
   * part of the usage, a locally counted prompt can also be the cause.
   */
  | "reported_usage"
  /**
   * A stream without reported usage, so that its prompt was counted locally. The prompt has more tokens than the hold
   * covers.
   */
  | "prompt_count"
  /** An image. Its cost is known only after the provider has finished. */
  | "image"
  /** A request that a sweep settled at its last checkpoint, because its node died. */
  | "orphaned"

/** The properties of a settlement that decide the reason of its write-off. */
export interface SettledRequest {
  readonly protocol: Protocol
  readonly streamed: boolean
  readonly ending: Ending
  readonly source: UsageSource
}

export const writeOffReasons: ReadonlyArray<WriteOffReason> = [
  "whole_response",
  "reported_usage",
  "prompt_count",
  "image",
  "orphaned"
]

export const writeOffReason = ({ protocol, streamed, ending, source }: SettledRequest): WriteOffReason => {
  if (ending === "orphaned") return "orphaned"
  if (protocol === "images") return "image"
  if (!streamed) return "whole_response"
  return source === "upstream" || source === "mixed" ? "reported_usage" : "prompt_count"
}
