/**
 * Decides an operator's change of a reseller's status (docs/reference/reseller.md#b8).
 *
 * If the reseller already has the new status, the decision succeeds and changes nothing, so that the operator can
 * repeat it.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { type Reseller, ResellerStatus } from "./Reseller.ts"

export const ReviewMove = Schema.Literal("approve", "reject", "suspend", "reactivate")
export type ReviewMove = typeof ReviewMove.Type

/** The change is not allowed from the reseller's current status. */
export class ReviewRefused extends Schema.TaggedError<ReviewRefused>()("ReviewRefused", {
  move: ReviewMove,
  status: ResellerStatus
}) {}

export interface Reviewed {
  readonly reseller: Reseller
  /** False if the reseller already has the status; nothing is written then. */
  readonly changed: boolean
}

const MOVES: Record<ReviewMove, { readonly from: ReadonlyArray<ResellerStatus>; readonly to: ResellerStatus }> = {
  approve: { from: ["pending", "rejected"], to: "active" },
  reject: { from: ["pending"], to: "rejected" },
  suspend: { from: ["active"], to: "suspended" },
  reactivate: { from: ["suspended"], to: "active" }
}

/** Decides a status change. A suspension revokes all earlier tokens. A reactivation does not make them valid again. */
export const decideReview = (reseller: Reseller, move: ReviewMove): Either.Either<Reviewed, ReviewRefused> => {
  const { from, to } = MOVES[move]
  if (reseller.status === to) return Either.right({ reseller, changed: false })
  if (!from.includes(reseller.status)) return Either.left(new ReviewRefused({ move, status: reseller.status }))
  const tokenVersion = to === "suspended" ? reseller.tokenVersion + 1 : reseller.tokenVersion
  return Either.right({ reseller: { ...reseller, status: to, tokenVersion }, changed: true })
}
