/**
 * Decides how an image request ends: its charge, the state of its database row, and the response to its client.
 *
 *   event                               state       charged         response                  review
 *   an image with reported usage        settled     that usage      200, billing settled
 *   an image without reported usage     unmetered   nothing         200, billing unmetered    unmetered
 *   the provider refused the content    declined    nothing         content_policy_violation
 *   not ready in 120 seconds            timeout     nothing         request_timeout           timeout
 *   an image over 20 MiB                withheld    nothing         image_too_large_output    withheld
 *   client disconnected or node died    abandoned   nothing         none                      abandoned
 *   no provider made an image           failed      nothing         the error of an attempt
 *
 * `unmetered` means delivered without reported output tokens. `withheld` means too large to be delivered. If nothing
 * was sent to a provider, the state is `failed` and there is no review, unless the node died.
 */
import type { Ending } from "../inference/Charge.ts"
import { nothing } from "../inference/Charge.ts"
import type {
  CircuitOpen,
  Overloaded,
  RequestTooLarge,
  TechnicalLimit,
  UpstreamFailed,
  UpstreamRejected
} from "../inference/InferenceErrors.ts"
import type { ReportedUsage } from "../inference/ReportedUsage.ts"
import type { Charge } from "../ledger/Settlement.ts"
import * as TokenUsage from "../ledger/TokenUsage.ts"
import * as Tokens from "../money/Tokens.ts"
import { type ContentPolicyViolation, ImageTimeout, ImageWithheld } from "./ImageErrors.ts"
import type { ReviewReason } from "./ImageReview.ts"

export type EndState = "settled" | "unmetered" | "declined" | "timeout" | "withheld" | "failed" | "abandoned"
/** The state of the request's database row. */
export type ImageState = "running" | EndState

/** The value of the billing header in the response. */
export type Billing = "settled" | "unmetered"

/** The errors with which an attempt at a provider can fail. */
export type ProviderFailure =
  | UpstreamFailed
  | UpstreamRejected
  | TechnicalLimit
  | RequestTooLarge
  | Overloaded
  | CircuitOpen

/** How an image request ended after its admission. */
export type ImageEnd =
  | { readonly _tag: "Completed"; readonly usage: ReportedUsage }
  /** `usage` is absent if the response was too large to be read. */
  | { readonly _tag: "TooLarge"; readonly usage: ReportedUsage | undefined }
  | { readonly _tag: "Declined"; readonly error: ContentPolicyViolation }
  | { readonly _tag: "TimedOut" }
  /** `usage` is present if the image arrived from the provider before the client disconnected. */
  | { readonly _tag: "ClientGone"; readonly usage: ReportedUsage | undefined }
  /** `usage` is present if the provider has sent a response that cannot be delivered. */
  | { readonly _tag: "Failed"; readonly error: ProviderFailure; readonly usage?: ReportedUsage | undefined }

export type ImageResponse =
  | { readonly _tag: "Image"; readonly billing: Billing }
  | {
      readonly _tag: "Refusal"
      readonly error: ContentPolicyViolation | ImageTimeout | ImageWithheld | ProviderFailure
    }
  | { readonly _tag: "None" }

export interface ImageOutcome {
  readonly state: EndState
  readonly ending: Ending
  readonly charge: Charge
  readonly response: ImageResponse
  /**
   * True if the request was sent to a provider, at least in part. If it is false, the idempotency key can be used
   * again.
   */
  readonly dispatched: boolean
}

export const outcomeOf = (end: ImageEnd, dispatched: boolean): ImageOutcome => {
  const outcome = whenDispatched(end)
  return dispatched ? { ...outcome, dispatched } : { ...outcome, ...uncharged, state: "failed", dispatched }
}

const whenDispatched = (end: ImageEnd): Omit<ImageOutcome, "dispatched"> => {
  switch (end._tag) {
    case "Completed": {
      const charge = chargeForImage(end.usage)
      const state: Billing = charge.source === "none" ? "unmetered" : "settled"
      return { state, ending: "complete", charge, response: { _tag: "Image", billing: state } }
    }
    case "TooLarge": {
      const charge = unchargedConsumption(end.usage)
      return { state: "withheld", ending: "failed", charge, response: { _tag: "Refusal", error: new ImageWithheld() } }
    }
    case "Declined":
      return { ...uncharged, state: "declined", response: { _tag: "Refusal", error: end.error } }
    case "TimedOut":
      return { ...uncharged, state: "timeout", response: { _tag: "Refusal", error: new ImageTimeout() } }
    case "ClientGone": {
      const charge = unchargedConsumption(end.usage)
      return { state: "abandoned", ending: "client_gone", charge, response: { _tag: "None" } }
    }
    case "Failed": {
      const charge = unchargedConsumption(end.usage)
      return { state: "failed", ending: "failed", charge, response: { _tag: "Refusal", error: end.error } }
    }
  }
}

const uncharged = { ending: "failed", charge: nothing } as const

/** Charges nothing, and records the reported usage as consumed (docs/reference/billing.md#bill-7). */
const unchargedConsumption = (usage: ReportedUsage | undefined): Charge =>
  usage === undefined ? nothing : { ...nothing, consumed: asUsage(usage) }

/**
 * Returns the reported usage as the charge, even if all reported numbers are 0. Charges nothing if the provider did not
 * report the output tokens, because the usage of an image is never counted locally.
 */
const chargeForImage = (usage: ReportedUsage): Charge => {
  if (usage.output === undefined) return unchargedConsumption(usage)
  const consumed = asUsage(usage)
  return { charged: consumed, consumed, source: "upstream" }
}

const asUsage = ({ prompt, output }: ReportedUsage): TokenUsage.TokenUsage => ({
  ...TokenUsage.none,
  ...prompt,
  output: output ?? Tokens.zero
})

/** Returns the reason why an operator must review a request in this state; undefined if no review is needed. */
export const reviewOf = (state: EndState): ReviewReason | undefined =>
  state === "unmetered" || state === "timeout" || state === "withheld" || state === "abandoned" ? state : undefined
