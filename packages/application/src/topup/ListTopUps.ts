/**
 * A reseller's orders, newest first, as they are stored (spec: GET /api/reseller/topups).
 */

import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { type PageQuery, readTopUpPage } from "@tollgate/domain/validation/Page"
import * as Effect from "effect/Effect"
import { TopUpOrders } from "./TopUpOrders.ts"

export const listTopUps = (resellerId: ResellerId, query: PageQuery) =>
  Effect.gen(function* () {
    const page = yield* readTopUpPage(query)
    return yield* (yield* TopUpOrders).list(resellerId, page)
  })
