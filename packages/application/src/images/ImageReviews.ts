/**
 * Declares the queue of image requests that operators review, and the resolution of a review.
 */

import type { UserId } from "@tollgate/domain/customer/User"
import type { Resolution, ReviewNotFound, ReviewReason, ReviewResolved } from "@tollgate/domain/images/ImageReview"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { CursorPage, Position } from "@tollgate/domain/validation/Cursor"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface ResolvedReview {
  readonly resolution: Resolution
  readonly at: Date
  readonly operator: Operator
}

export interface ImageReview {
  /** The time at which the review was queued, and the id of the request. */
  readonly position: Position
  readonly requestId: RequestId
  readonly userId: UserId
  readonly email: Email
  readonly model: string
  readonly reason: ReviewReason
  readonly queuedAt: Date
  /** Undefined while the review is open. */
  readonly resolved: ResolvedReview | undefined
}

export interface ChargedReview extends ImageReview {
  /** The customer's pay-as-you-go balance after the resolution. */
  readonly balancePico: UsdPico
}

export class ImageReviews extends Context.Tag("@tollgate/application/ImageReviews")<
  ImageReviews,
  {
    /** Returns a page of the open reviews (`waiting`) or of the reviews of any state (`all`), oldest first. */
    readonly list: (which: "waiting" | "all", page: CursorPage) => Effect.Effect<ReadonlyArray<ImageReview>>
    /**
     * Locks the review and the customer's balance, applies `decideResolution`, and writes the result and the audit log,
     * in one transaction.
     */
    readonly resolve: (
      requestId: RequestId,
      resolution: Resolution,
      operator: Operator
    ) => Effect.Effect<ChargedReview, ReviewNotFound | ReviewResolved | InsufficientBalance>
  }
>() {}
