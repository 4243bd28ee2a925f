/**
 * Settled usage, as a list that only grows at its head.
 *
 * Settlements commit out of order: one that was settled earlier can become visible after one that was settled later,
 * among items that a reader has already passed. So the list ends at a horizon: an item is in it only once no open
 * transaction can place another one at or below it. What stands below an item therefore never changes, and whoever
 * reads on from a position neither misses anything nor meets it twice, today or tomorrow.
 */
import type { UsageItem, UsagePage } from "@tollgate/domain/customer/Usage"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class SettledUsage extends Context.Tag("@tollgate/application/SettledUsage")<
  SettledUsage,
  {
    /**
     * Usage of this reseller's customers, newest first: at most `limit` items that stand below `after` (all when it is
     * absent) and not above the horizon, by (settled at in microseconds, request id) descending. Requests that were charged no token are no usage.
     */
    readonly read: (resellerId: ResellerId, page: UsagePage) => Effect.Effect<ReadonlyArray<UsageItem>>
  }
>() {}
