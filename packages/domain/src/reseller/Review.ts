/**
 * An operator's move of a reseller from one status to another (docs/reference/reseller.md#b8).
 *
 * A move to the current status changes nothing and is not refused, so that a command can be repeated.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { type Reseller, ResellerStatus } from "./Reseller.ts"

export const ReviewMove = Schema.Literal("approve", "reject", "suspend", "reactivate")
export type ReviewMove = typeof ReviewMove.Type

/** The move is not allowed from the reseller's status. */
export class ReviewRefused extends Schema.TaggedError<ReviewRefused>()("ReviewRefused", {
  move: ReviewMove,
  status: ResellerStatus
}) {}

export interface Reviewed {
  readonly reseller: Reseller
  /** False when the reseller already had the status: nothing is written. */
  readonly changed: boolean
}

const MOVES: Record<ReviewMove, { readonly from: ReadonlyArray<ResellerStatus>; readonly to: ResellerStatus }> = {
  approve: { from: ["pending", "rejected"], to: "active" },
  reject: { from: ["pending"], to: "rejected" },
  suspend: { from: ["active"], to: "suspended" },
  reactivate: { from: ["suspended"], to: "active" }
}

/** A suspension also revokes the tokens issued before it: a reactivation does not make them valid again. */
export const decideReview = (reseller: Reseller, move: ReviewMove): Either.Either<Reviewed, ReviewRefused> => {
  const { from, to } = MOVES[move]
  if (reseller.status === to) return Either.right({ reseller, changed: false })
  if (!from.includes(reseller.status)) return Either.left(new ReviewRefused({ move, status: reseller.status }))
  const tokenVersion = to === "suspended" ? reseller.tokenVersion + 1 : reseller.tokenVersion
  return Either.right({ reseller: { ...reseller, status: to, tokenVersion }, changed: true })
}
