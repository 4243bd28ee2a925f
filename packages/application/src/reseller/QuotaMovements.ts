/**
 * Declares the list of the movements of a reseller's quota: top-ups, mints and adjustments by operators.
 */
import type { QuotaMovement } from "@tollgate/domain/reseller/QuotaMovement"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { RangePage } from "@tollgate/domain/validation/Cursor"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class QuotaMovements extends Context.Tag("@tollgate/application/QuotaMovements")<
  QuotaMovements,
  {
    /** Returns at most `limit` movements after the position `after`, in descending order of time and id. */
    readonly list: (resellerId: ResellerId, page: RangePage) => Effect.Effect<ReadonlyArray<QuotaMovement>>
  }
>() {}
