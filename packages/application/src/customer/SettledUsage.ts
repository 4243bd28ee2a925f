/**
 * Lists the settled requests of a reseller's customers in pages, newest first
 * (docs/reference/balances-and-usage.md#bal-5, docs/reference/balances-and-usage.md#e5).
 *
 * Settlements do not commit in the order of their settlement times. The list therefore shows an item only when no open
 * transaction can add an item with the same or an earlier time. New items appear only at the head of the list, and the
 * items after a cursor never change. A reader that continues from a cursor neither misses nor repeats an item.
 */
import {
  positionToText,
  readUsagePage,
  type UsageItem,
  type UsagePage,
  type UsageQuery
} from "@tollgate/domain/customer/Usage"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"

export class SettledUsage extends Context.Tag("@tollgate/application/SettledUsage")<
  SettledUsage,
  {
    /**
     * Returns at most `limit` items after the position `after`, or the first items if `after` is undefined. The items
     * are in descending order of settlement time (microseconds) and request id. Requests without charged tokens are
     * omitted.
     */
    readonly read: (resellerId: ResellerId, page: UsagePage) => Effect.Effect<ReadonlyArray<UsageItem>>
  }
>() {}

/** Signs cursors, so that a client cannot forge a cursor. A sealed cursor needs no escaping in a URL. */
export class CursorSealer extends Context.Tag("@tollgate/application/CursorSealer")<
  CursorSealer,
  {
    readonly seal: (text: string) => string
    /** Returns the text in a cursor; none if the cursor is malformed, altered or not sealed by this deployment. */
    readonly open: (cursor: string) => Option.Option<string>
  }
>() {}

export const readUsage = (resellerId: ResellerId, query: UsageQuery) =>
  Effect.gen(function* () {
    const cursors = yield* CursorSealer
    const { limit, after } = yield* readUsagePage(query, cursors.open)
    // Reads one item more than the page needs: if this item exists, there is another page.
    const found = yield* (yield* SettledUsage).read(resellerId, { limit: limit + 1, after })
    const items = found.slice(0, limit)
    const last = items.at(-1)
    const nextCursor = found.length > limit && last !== undefined ? cursors.seal(positionToText(last.position)) : null
    return { items, nextCursor }
  })
