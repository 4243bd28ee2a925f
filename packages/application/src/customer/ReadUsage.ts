/**
 * Settled usage of a reseller's customers, page by page, newest first (spec: GET /api/reseller/usage; gap E5).
 */
import { positionToText, readUsagePage, type UsageQuery } from "@tollgate/domain/customer/Usage"
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
    const nextCursor = found.length > limit && last !== undefined ? cursors.seal(positionToText(last.position)) : null
    return { items, nextCursor }
  })
