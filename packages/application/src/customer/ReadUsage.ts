/**
 * Settled usage of a reseller's customers, page by page, newest first (spec: GET /api/reseller/usage; gap E5).
 */
import * as UsagePosition from "@tollgate/domain/customer/UsagePosition"
import { readUsagePage, type UsageQuery } from "@tollgate/domain/customer/UsageQuery"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import * as Effect from "effect/Effect"
import { CursorSealer } from "./CursorSealer.ts"
import { SettledUsage } from "./SettledUsage.ts"

export const readUsage = (resellerId: ResellerId, query: UsageQuery) =>
  Effect.gen(function* () {
    const cursors = yield* CursorSealer
    const { limit, after } = yield* readUsagePage(query, cursors.open)
    // One more than is shown says whether there is another page.
    const found = yield* (yield* SettledUsage).read(resellerId, { limit: limit + 1, after })
    const items = found.slice(0, limit)
    const last = items.at(-1)
    const nextCursor =
      found.length > limit && last !== undefined ? cursors.seal(UsagePosition.toText(last.position)) : null
    return { items, nextCursor }
  })
