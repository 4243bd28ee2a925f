/**
 * How an image request ends: what is charged, what its row says from then on, and what its client is told.
 *
 *   what happened                       state       charged         client is told            reviewed
 *   a picture, and what it used         settled     that usage      200, billing settled
 *   a picture, and nothing of its use   unmetered   nothing         200, billing unmetered    unmetered
 *   the supplier declined               declined    nothing         content_policy_violation
 *   not ready in 120 seconds            timeout     nothing         request_timeout           timeout
 *   a picture over 20 MiB               withheld    nothing         image_too_large_output    withheld
 *   the client left, or its node died   abandoned   nothing         nobody is there           abandoned
 *   no supplier could be used           failed      nothing         what was in the way
 *
 * Where nothing was sent to a supplier there is nothing to review, and the state is `failed` whatever happened.
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
/** Of the request's row. */
export type ImageState = "running" | EndState

/** The value of the billing header. */
export type Billing = "settled" | "unmetered"

/** What is in the way when no supplier can be used. */
export type ProviderFailure =
  | UpstreamFailed
  | UpstreamRejected
  | TechnicalLimit
  | RequestTooLarge
  | Overloaded
  | CircuitOpen

/** What happened to a request that holds money. */
export type ImageEnd =
  | { readonly _tag: "Pictured"; readonly usage: ReportedUsage }
  | { readonly _tag: "TooLarge" }
  | { readonly _tag: "Declined"; readonly error: ContentPolicyViolation }
  | { readonly _tag: "TimedOut" }
  /** With what the supplier reported, where its picture was here already. */
  | { readonly _tag: "Left"; readonly usage: ReportedUsage | undefined }
  | { readonly _tag: "Failed"; readonly error: ProviderFailure }

export type Told =
  | { readonly _tag: "Picture"; readonly billing: Billing }
  | {
      readonly _tag: "Refusal"
      readonly error: ContentPolicyViolation | ImageTimeout | ImageWithheld | ProviderFailure
    }
  | { readonly _tag: "Nobody" }

export interface ImageOutcome {
  readonly state: EndState
  readonly ending: Ending
  readonly charge: Charge
  readonly told: Told
  /** Something was sent to a supplier. If nothing was, the idempotency key may be used again. */
  readonly dispatched: boolean
}

export const outcomeOf = (end: ImageEnd, dispatched: boolean): ImageOutcome => {
  const outcome = whenDispatched(end)
  return dispatched ? { ...outcome, dispatched } : { ...outcome, ...free, state: "failed", dispatched }
}

const whenDispatched = (end: ImageEnd): Omit<ImageOutcome, "dispatched"> => {
  switch (end._tag) {
    case "Pictured": {
      const charge = chargeForPicture(end.usage)
      const state: Billing = charge.source === "none" ? "unmetered" : "settled"
      return { state, ending: "complete", charge, told: { _tag: "Picture", billing: state } }
    }
    case "TooLarge":
      return { ...free, state: "withheld", told: { _tag: "Refusal", error: new ImageWithheld() } }
    case "Declined":
      return { ...free, state: "declined", told: { _tag: "Refusal", error: end.error } }
    case "TimedOut":
      return { ...free, state: "timeout", told: { _tag: "Refusal", error: new ImageTimeout() } }
    case "Left": {
      const charge = end.usage === undefined ? nothing : { ...nothing, consumed: asUsage(end.usage) }
      return { state: "abandoned", ending: "client_gone", charge, told: { _tag: "Nobody" } }
    }
    case "Failed":
      return { ...free, state: "failed", told: { _tag: "Refusal", error: end.error } }
  }
}

const free = { ending: "failed", charge: nothing } as const

/** A picture is metered when the supplier says what it came to; a reported 0 is a 0. What is not reported is not guessed. */
const chargeForPicture = (usage: ReportedUsage): Charge => {
  const consumed = asUsage(usage)
  return usage.output === undefined ? { ...nothing, consumed } : { charged: consumed, consumed, source: "upstream" }
}

const asUsage = ({ prompt, output }: ReportedUsage): TokenUsage.TokenUsage => ({
  ...TokenUsage.none,
  ...prompt,
  output: output ?? Tokens.zero
})

/** Why a person looks at a request that ended so, where one has to. */
export const reviewOf = (state: EndState): ReviewReason | undefined =>
  state === "unmetered" || state === "timeout" || state === "withheld" || state === "abandoned" ? state : undefined
