/**
 * Orders for quota.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as TopUps from "@tollgate/application/topup/TopUps"
import type { OrderId } from "@tollgate/domain/topup/TopUpOrder"
import { TopUpRequest } from "@tollgate/domain/topup/TopUpRequest"
import * as Effect from "effect/Effect"
import { forReseller } from "../auth/ResellerCaller.ts"
import { singleValues } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { PublicAddress } from "../reseller/PublicAddress.ts"
import { QrLinks } from "./QrLinks.ts"
import { toBody, toListed } from "./TopUpOrderMembers.ts"
import { type TopUpList, TopUpsApi } from "./TopUpsApi.ts"

const qrAddress = Effect.gen(function* () {
  const base = yield* (yield* PublicAddress).base
  const links = yield* QrLinks
  return (id: OrderId) => base + links.pathOf(id)
})

const createTopUp = forReseller(
  (reseller) =>
    Effect.gen(function* () {
      const order = yield* TopUps.createTopUp(reseller, yield* jsonBody(TopUpRequest))
      return toBody(order, yield* qrAddress)
    }),
  201
)

const refreshTopUp = (orderId: string) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      const order = yield* TopUps.refreshTopUp(id, orderId)
      return toBody(order, yield* qrAddress)
    })
  )

type Given = ReadonlyArray<string> | undefined

const listTopUps = (given: { readonly limit?: Given; readonly offset?: Given }) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      const { topUps, total } = yield* TopUps.listTopUps(id, yield* singleValues(given))
      const address = yield* qrAddress
      const body: typeof TopUpList.Type = { topups: topUps.map((order) => toListed(order, address)), total }
      return body
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(TopUpsApi), "topUps", (handlers) =>
  handlers
    .handleRaw("createTopUp", () => createTopUp)
    .handleRaw("getTopUp", ({ path: { orderID } }) => refreshTopUp(orderID))
    .handleRaw("checkTopUp", ({ path: { orderID } }) => refreshTopUp(orderID))
    .handleRaw("listTopUps", ({ urlParams }) => listTopUps(urlParams))
)
