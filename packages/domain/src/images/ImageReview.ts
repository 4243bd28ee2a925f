/**
 * Decides the review of an image request that was not charged: an operator charges an amount or waives the charge
 * (docs/reference/images.md#g8).
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { RequestId } from "../inference/InferenceRequest.ts"
import * as Account from "../ledger/Account.ts"
import { InsufficientBalance } from "../ledger/Hold.ts"
import { type Booking, systemAccounts } from "../ledger/Transfer.ts"
import { toUsdPico, UsdMicro } from "../money/UsdMicro.ts"

/**
 * `unmetered`: delivered without reported usage. `withheld`: too large to deliver. `timeout`: not ready in time.
 * `abandoned`: the client disconnected or the node died.
 */
export type ReviewReason = "unmetered" | "withheld" | "timeout" | "abandoned"

export type Resolution =
  | { readonly _tag: "Waived" }
  /** The amount is debited from the customer's pay-as-you-go balance. */
  | { readonly _tag: "Charged"; readonly amount: UsdMicro }

/** The largest amount that an operator can charge for one image request. A larger amount is probably a typing error. */
export const MAX_CHARGE = UsdMicro(1_000_000_000n)

/** No image request with this id has a review. */
export class ReviewNotFound extends Schema.TaggedError<ReviewNotFound>()("ReviewNotFound", {
  requestId: Schema.String
}) {}

/** The review is already resolved. */
export class ReviewResolved extends Schema.TaggedError<ReviewResolved>()("ReviewResolved", {
  requestId: Schema.String,
  resolution: Schema.Literal("waived", "charged")
}) {}

export interface Resolved {
  readonly payg: Account.PaygAccount | undefined
  /** The transfer to book; undefined if the charge is waived. */
  readonly booking: Booking | undefined
}

/**
 * Waives the charge, or charges the whole amount. Fails if the review is already resolved, or if the customer's
 * pay-as-you-go balance does not cover the amount.
 */
export const decideResolution = (
  requestId: RequestId,
  resolution: Resolution,
  earlier: "waived" | "charged" | undefined,
  payg: Account.PaygAccount | undefined
): Either.Either<Resolved, ReviewResolved | InsufficientBalance> => {
  if (earlier !== undefined) return Either.left(new ReviewResolved({ requestId, resolution: earlier }))
  if (resolution._tag === "Waived") return Either.right({ payg, booking: undefined })
  const amount = toUsdPico(resolution.amount)
  if (payg === undefined || Account.available(payg) < amount) return Either.left(new InsufficientBalance())
  return Either.right({
    payg: Account.debit(payg, amount),
    booking: {
      code: "image_charge",
      ref: requestId,
      unit: "usd_pico",
      debit: payg.id,
      credit: systemAccounts.paygFunding,
      amount
    }
  })
}
