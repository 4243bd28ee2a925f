/**
 * Lists and shows top-up orders for operators, and refreshes them from the payment providers
 * (docs/reference/operator.md#top-ups).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { listTopUpsForOperator, type TopUpsQuery } from "@tollgate/application/operator/OperatorLists"
import { refreshOrderForOperator, showTopUpForOperator } from "@tollgate/application/operator/OperatorTopUps"
import { TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type ParametersOf, parameter, singleValues, text } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, nextCursor } from "../openapi/ListDocs.ts"
import { documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { forOperator } from "./OperatorCaller.ts"
import { exampleTopUp, TopUpBody, toTopUpBody } from "./TopUpBody.ts"

const TopUpPage = Schema.Struct({
  data: Schema.Array(TopUpBody).annotations({ description: "The orders, newest first." }),
  next_cursor: nextCursor
}).annotations({ identifier: "OperatorTopUpPage", examples: [{ data: [exampleTopUp], next_cursor: null }] })

const RefreshedBody = Schema.Struct({
  refreshed: Schema.Boolean.annotations({
    description:
      "False if the order could not be refreshed, because its payment provider is not configured or does not respond. " +
      "The order is then returned as it is stored."
  }),
  topup: TopUpBody
}).annotations({ identifier: "RefreshedTopUp", examples: [{ refreshed: true, topup: exampleTopUp }] })

const PATH = "/api/operator/topups"
const order = Schema.Struct({ order: text("The order's id, or its number `RTO-...`.", exampleTopUp.id) })

const readTopUps = HttpApiEndpoint.get("listTopUpsForOperator", PATH)
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
        description: "Returns only orders that are late, underpaid or overpaid."
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

const readTopUp = HttpApiEndpoint.get("showTopUp", `${PATH}/:order`)
  .setPath(order)
  .addSuccess(TopUpBody)
  .annotateContext(
    documented({
      summary: "Show a top-up order as it is stored",
      description: "The payment provider is not called.",
      errors: ["TopUpNotFound"]
    })
  )

const refreshTopUp = HttpApiEndpoint.post("refreshTopUpForOperator", `${PATH}/:order/refresh`)
  .setPath(order)
  .addSuccess(RefreshedBody)
  .annotateContext(
    documented({
      summary: "Refresh a top-up order from its payment provider",
      description: "Also refreshes a credited order. A paid order is credited. The request has no body.",
      errors: ["TopUpNotFound"]
    })
  )

export class OperatorTopUpsApi extends HttpApiGroup.make("operatorTopUps")
  .add(readTopUps)
  .add(readTopUp)
  .add(refreshTopUp)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({ title: "Operator: top-ups", description: "The top-up orders of resellers." })
  ) {}

const topUpPage = (query: ParametersOf<TopUpsQuery>) =>
  forOperator(() =>
    Effect.gen(function* () {
      const { items, nextCursor } = yield* listTopUpsForOperator(yield* singleValues(query))
      const body: typeof TopUpPage.Type = { data: items.map(toTopUpBody), next_cursor: nextCursor }
      return body
    })
  )

const shown = (named: string) => forOperator(() => Effect.map(showTopUpForOperator(named), toTopUpBody))

const refreshed = (named: string) =>
  forOperator(() =>
    Effect.map(refreshOrderForOperator(named), ({ refreshed, stored }): typeof RefreshedBody.Type => ({
      refreshed,
      topup: toTopUpBody(stored)
    }))
  )

export const layer = HttpApiBuilder.group(gateway.add(OperatorTopUpsApi), "operatorTopUps", (handlers) =>
  handlers
    .handleRaw("listTopUpsForOperator", ({ urlParams }) => topUpPage(urlParams))
    .handleRaw("showTopUp", ({ path }) => shown(path.order))
    .handleRaw("refreshTopUpForOperator", ({ path }) => refreshed(path.order))
)
