/**
 * Settled usage of a reseller's customers, page by page, newest first (docs/reference/balances-and-usage.md#bal-5,
 * docs/reference/balances-and-usage.md#e5).
 *
 * The list grows only at its head. Settlements commit out of order: a settlement with an earlier time can become
 * visible after one with a later time. The list therefore begins at a horizon: an item appears only when no open
 * transaction can still add an item with the same or an earlier time. The items after a cursor thus never change, and a
 * reader that continues from a cursor neither misses nor repeats an item.
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
     * Returns at most `limit` items that follow the position `after` (without `after`: the first items below the
     * horizon), in descending order of settlement time (microseconds) and request id. Omits requests with no charged
     * token.
     */
    readonly read: (resellerId: ResellerId, page: UsagePage) => Effect.Effect<ReadonlyArray<UsageItem>>
  }
>() {}

/** Seals cursors, so that a client cannot forge a cursor. A sealed cursor needs no escaping in a URL. */
export class CursorSealer extends Context.Tag("@tollgate/application/CursorSealer")<
  CursorSealer,
  {
    readonly seal: (text: string) => string
    /** Returns the sealed text, or none if the cursor is malformed, altered or not sealed by this deployment. */
    readonly open: (cursor: string) => Option.Option<string>
  }
>() {}

export const readUsage = (resellerId: ResellerId, query: UsageQuery) =>
  Effect.gen(function* () {
    const cursors = yield* CursorSealer
    const { limit, after } = yield* readUsagePage(query, cursors.open)
    // One item more than the page shows whether there is another page.
    const found = yield* (yield* SettledUsage).read(resellerId, { limit: limit + 1, after })
    const items = found.slice(0, limit)
    const last = items.at(-1)
    const nextCursor = found.length > limit && last !== undefined ? cursors.seal(positionToText(last.position)) : null
    return { items, nextCursor }
  })
