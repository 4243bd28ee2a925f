/**
 * Lists and shows top-up orders for operators, and refreshes them from the payment providers
 * (docs/reference/operator.md#top-ups).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import { listTopUpsForOperator } from "@tollgate/application/operator/OperatorLists"
import { OpenTopUps, refreshForOperator, showTopUpForOperator } from "@tollgate/application/operator/OperatorTopUps"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { OrderPayments } from "@tollgate/application/topup/OrderPayments"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { withOnly } from "../http/RouteServices.ts"
import { integer, parameter, text } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, pageOf } from "../openapi/ListDocs.ts"
import { documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { forOperator, operatorServices, pageForOperator } from "./OperatorCaller.ts"
import { exampleTopUp, TopUpBody, toTopUpBody } from "./TopUpBody.ts"

const TopUpPage = pageOf(TopUpBody, {
  identifier: "OperatorTopUpPage",
  description: "The orders, newest first.",
  example: exampleTopUp
})

const RefreshedBody = Schema.Struct({
  refreshed: Schema.Boolean.annotations({
    description:
      "False if the order could not be refreshed, for example because its payment provider does not respond. " +
      "The order is then returned as it is stored."
  }),
  topup: TopUpBody
}).annotations({ identifier: "RefreshedTopUp", examples: [{ refreshed: true, topup: exampleTopUp }] })

const RefreshedOrdersBody = Schema.Struct({
  attempted: integer("The number of orders that the service tried to refresh.", 12),
  refreshed: integer("The number of these orders that were refreshed.", 12),
  credited: integer("The number of orders that became `credited`.", 1),
  without_provider: integer(
    "The number of open orders, except simulated ones, that cannot be refreshed because their payment provider is not " +
      "configured.",
    0
  )
}).annotations({
  identifier: "RefreshedTopUps",
  examples: [{ attempted: 12, refreshed: 12, credited: 1, without_provider: 0 }]
})

const PATH = "/api/operator/topups"
const order = Schema.Struct({ order: text("The order's id, or its number `RTO-...`.", exampleTopUp.id) })

const listOrders = HttpApiEndpoint.get("listTopUpsForOperator", PATH)
  .setUrlParams(
    Schema.Struct({
      status: parameter({
        type: "string",
        enum: [...TopUpStatus.literals],
        description: "Returns only orders with this status."
      }),
      flagged: parameter({
        type: "string",
        enum: ["true"],
        description: "Returns only orders that are late, underpaid, overpaid or remarked."
      }),
      reseller: parameter({
        type: "string",
        description: "Returns only orders of the reseller with this id or email."
      }),
      ...cursorParameters
    })
  )
  .addSuccess(TopUpPage)
  .annotateContext(documented({ summary: "List top-up orders", errors: ["ValidationFailed", "ResellerNotFound"] }))

const showOrder = HttpApiEndpoint.get("showTopUp", `${PATH}/:order`)
  .setPath(order)
  .addSuccess(TopUpBody)
  .annotateContext(
    documented({
      summary: "Show a top-up order as it is stored",
      description: "The payment provider is not called.",
      errors: ["TopUpNotFound"]
    })
  )

const refreshOrder = HttpApiEndpoint.post("refreshTopUpForOperator", `${PATH}/:order/refresh`)
  .setPath(order)
  .addSuccess(RefreshedBody)
  .annotateContext(
    documented({
      summary: "Refresh a top-up order from its payment provider",
      description: "Also refreshes a credited order. A paid order is credited. The request has no body.",
      errors: ["TopUpNotFound"]
    })
  )

const refreshOpenOrders = HttpApiEndpoint.post("refreshOpenTopUps", `${PATH}/refresh`)
  .addSuccess(RefreshedOrdersBody)
  .annotateContext(
    documented({
      summary: "Refresh all open top-up orders from their payment providers",
      description:
        "Credits the paid orders. Other orders that are due are refreshed too. With many open orders this takes " +
        "minutes. The refresh continues if the client disconnects. The request has no body.",
      errors: []
    })
  )

export class OperatorTopUpsApi extends HttpApiGroup.make("operatorTopUps")
  .add(listOrders)
  .add(showOrder)
  .add(refreshOrder)
  .add(refreshOpenOrders)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({ title: "Operator: top-ups", description: "The top-up orders of resellers." })
  ) {}

const show = (named: string) => forOperator(() => Effect.map(showTopUpForOperator(named), toTopUpBody))

const refresh = (named: string) =>
  forOperator(() =>
    Effect.map(refreshForOperator(named), ({ refreshed, stored }): typeof RefreshedBody.Type => ({
      refreshed,
      topup: toTopUpBody(stored)
    }))
  )

const refreshOpen = forOperator(() =>
  Effect.map(
    Effect.flatMap(OpenTopUps, ({ refresh }) => refresh),
    ({ attempted, credited, refreshed, withoutProvider }): typeof RefreshedOrdersBody.Type => ({
      attempted,
      refreshed,
      credited,
      without_provider: withoutProvider
    })
  )
)

export const layer = HttpApiBuilder.group(gateway.add(OperatorTopUpsApi), "operatorTopUps", (handlers) =>
  handlers
    .handleRaw("listTopUpsForOperator", ({ urlParams }) =>
      pageForOperator(urlParams, listTopUpsForOperator, toTopUpBody)
    )
    .handleRaw("showTopUp", ({ path }) => show(path.order))
    .handleRaw("refreshTopUpForOperator", ({ path }) => refresh(path.order))
    .handleRaw("refreshOpenTopUps", () => refreshOpen)
).pipe(withOnly(...operatorServices, CursorSealer, OpenTopUps, OrderPayments, Resellers, TopUpOrders))
