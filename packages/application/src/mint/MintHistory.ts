/**
 * Lists the mints of a reseller in pages, newest first (docs/reference/reseller.md#k4).
 */
import type { ListedMint } from "@tollgate/domain/mint/Mint"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { type CursorQuery, type RangePage, readRangePage } from "@tollgate/domain/validation/Cursor"
import type { DaysQuery } from "@tollgate/domain/validation/Days"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { CursorSealer, listPage } from "../operations/CursorSealer.ts"

export class MintHistory extends Context.Tag("@tollgate/application/MintHistory")<
  MintHistory,
  {
    /** Returns at most `limit` mints after the position `after`, in descending order of time and id. */
    readonly list: (resellerId: ResellerId, page: RangePage) => Effect.Effect<ReadonlyArray<ListedMint>>
  }
>() {}

/** Returns a page of mints (`GET /api/reseller/mints`). */
export const listMints = (resellerId: ResellerId, query: CursorQuery & DaysQuery) =>
  Effect.gen(function* () {
    const page = yield* readRangePage("m1", query, (yield* CursorSealer).open)
    const mints = yield* MintHistory
    return yield* listPage("m1", page, (wanted) => mints.list(resellerId, wanted))
  })
