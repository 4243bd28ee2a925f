/**
 * Declares the store of the prepaid quota of resellers.
 */
import type { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { AdjustmentConflict, InsufficientQuota, QuotaAdjustment } from "@tollgate/domain/reseller/QuotaAdjustment"
import type { ResellerId, ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface AdjustedQuota extends QuotaAdjustment {
  readonly balanceUsdMicro: UsdMicro
  /** True if an earlier call with the operation id booked the adjustment, so that this call changed nothing. */
  readonly alreadyApplied: boolean
}

export class Quota extends Context.Tag("@tollgate/application/Quota")<
  Quota,
  {
    readonly balance: (resellerId: ResellerId) => Effect.Effect<UsdMicro>
    /**
     * Locks the quota account, calls `decideAdjustment`, and writes the account, the transfer and the audit log, in one
     * transaction. One operation id has at most one adjustment, even if the id is used for several resellers, because
     * the pair (quota_adjust, operation id) is unique in the transfers.
     */
    readonly adjust: (
      adjustment: QuotaAdjustment,
      operator: Operator
    ) => Effect.Effect<AdjustedQuota, ResellerNotFound | AdjustmentConflict | InsufficientQuota>
  }
>() {}
