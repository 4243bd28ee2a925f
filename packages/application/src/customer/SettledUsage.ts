/**
 * Lists settled requests in pages, newest first, and computes their daily sums
 * (docs/reference/balances-and-usage.md#bal-5, docs/reference/balances-and-usage.md#e5). A reseller reads the requests
 * of its customers. A customer reads its own requests. An operator reads in the place of a reseller or of a customer.
 *
 * Settlements do not commit in the order of their settlement times. The list therefore shows an item only when no open
 * transaction can add an item with the same or an earlier time. Requests that are settled later appear only at the head
 * of the list. A reader that continues from a cursor therefore neither misses nor repeats an item, unless a user is
 * linked to the reseller in the meantime.
 */
import {
  readUsageDays,
  readUsagePage,
  type UsageDay,
  type UsageFilter,
  type UsageFilterQuery,
  type UsageItem,
  type UsagePage,
  type UsageQuery
} from "@tollgate/domain/customer/Usage"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { CursorSealer, listPage } from "../operations/CursorSealer.ts"

/** The reseller or the customer whose view of the settled requests is read. */
export type UsageReader =
  | { readonly _tag: "Reseller"; readonly resellerId: ResellerId }
  | { readonly _tag: "Customer"; readonly userId: UserId }

export const resellerReader = (resellerId: ResellerId): UsageReader => ({ _tag: "Reseller", resellerId })
export const customerReader = (userId: UserId): UsageReader => ({ _tag: "Customer", userId })

export class SettledUsage extends Context.Tag("@tollgate/application/SettledUsage")<
  SettledUsage,
  {
    /**
     * Returns at most `limit` items after the position `after`, or the first items if `after` is undefined. The items
     * are in descending order of settlement time (microseconds) and request id. Requests without charged tokens are
     * omitted. Fails with `Overloaded` if too many reads run or wait in this process, of this reader or of all readers.
     */
    readonly read: (reader: UsageReader, page: UsagePage) => Effect.Effect<ReadonlyArray<UsageItem>, Overloaded>
    /** Returns the sums of each day that has a settled request with charged tokens, oldest first. */
    readonly days: (reader: UsageReader, filter: UsageFilter) => Effect.Effect<ReadonlyArray<UsageDay>, Overloaded>
  }
>() {}

export const readUsage = (reader: UsageReader, query: UsageQuery) =>
  Effect.gen(function* () {
    const page = yield* readUsagePage(query, (yield* CursorSealer).open)
    const usage = yield* SettledUsage
    return yield* listPage("u1", page, (wanted) => usage.read(reader, wanted))
  })

/** Returns the daily sums of a range of days, and the range. */
export const readDailyUsage = (reader: UsageReader, query: UsageFilterQuery) =>
  Effect.gen(function* () {
    const now = new Date(yield* Clock.currentTimeMillis)
    const { days, filter } = yield* readUsageDays(query, now)
    return { ...days, days: yield* (yield* SettledUsage).days(reader, filter) }
  })
