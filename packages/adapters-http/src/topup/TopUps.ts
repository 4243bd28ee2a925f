/**
 * Creates, refreshes and lists top-up orders (docs/reference/reseller.md#top-ups).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { OrderPayments } from "@tollgate/application/topup/OrderPayments"
import { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import * as TopUps from "@tollgate/application/topup/TopUps"
import { PaymentMethod, TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import { TopUpRequest } from "@tollgate/domain/topup/TopUpRequest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { forReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import {
  integer,
  type MembersOf,
  type ParameterValues,
  parameter,
  singleValues,
  unknownMembers,
  uuid
} from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { bodyErrors, documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { QrLinks } from "./QrLinks.ts"
import { CreatedTopUpOrder, ListedTopUpOrder, TopUpOrderBody, toBody, toListed } from "./TopUpOrderBody.ts"

const TopUpRequestBody = Schema.Struct(
  {
    method: PaymentMethod.annotations({
      description:
        "`qris`: rupiah with a fee of 5 %. `hosted_qris`: rupiah without a fee. `crypto`: USDT or USDC, 1 token for " +
        "1 USD. `crypto_bep20`: USDT or USDC on the BNB Smart Chain, to an address that only this order uses."
    }),
    amount_idr: Schema.optional(
      integer(
        "The amount in rupiah without the fee. Required for `qris` and `hosted_qris`, not allowed for other methods.",
        250_000
      )
    ),
    amount_usd_micro: Schema.optional(
      integer(
        "The amount in micro-USD. Required for `crypto` and `crypto_bep20`, not allowed for other methods.",
        25_000_000
      )
    ),
    token_kind: Schema.optional(
      TokenKind.annotations({
        description: "The token to pay with, for `crypto_bep20`; default `usdt`. Ignored for other methods."
      })
    ),
    operation_id: Schema.optional(
      Schema.String.annotations({
        jsonSchema: {
          type: "string",
          minLength: 1,
          maxLength: 128,
          description:
            "An id that you choose for this order. A repeat of the same request with this id returns the same order.",
          examples: ["topup-1042"]
        }
      })
    )
  } satisfies MembersOf<typeof TopUpRequest>,
  unknownMembers
).annotations({
  identifier: "TopUpRequest",
  examples: [
    { method: "qris", amount_idr: 250_000 },
    { method: "crypto_bep20", amount_usd_micro: 25_000_000, token_kind: "usdc" }
  ]
})

const TopUpList = Schema.Struct({
  topups: Schema.Array(ListedTopUpOrder).annotations({ description: "The orders, newest first." }),
  total: integer("The total number of the reseller's orders.", 42)
}).annotations({ identifier: "TopUpList" })

const path = Schema.Struct({ orderID: uuid("The `id` of the order.", "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70") })

const createOrder = HttpApiEndpoint.post("createTopUp", "/api/reseller/topup")
  .setPayload(TopUpRequestBody)
  .addSuccess(CreatedTopUpOrder, { status: 201 })
  .annotateContext(
    documented({
      summary: "Create a top-up order",
      description:
        "The response contains the amount to pay and the payment instructions. Read the order until its status is " +
        "`credited`. With an `operation_id` the request can be repeated, for example after a lost response: all requests " +
        "together create one order.",
      errors: [
        ...bodyErrors,
        "AmountOutOfRange",
        "IdempotencyConflict",
        "TooManyUnpaidOrders",
        "PaymentProviderUnavailable"
      ]
    })
  )

const refreshByGet = HttpApiEndpoint.get("getTopUp", "/api/reseller/topup/:orderID")
  .setPath(path)
  .addSuccess(TopUpOrderBody)
  .annotateContext(
    documented({
      summary: "Read a top-up order",
      description:
        "Reads the state of the payment from the payment provider and credits a paid order. A credited order is " +
        "returned as it is stored. An order that was refreshed within the last second can also be returned as it is " +
        "stored. " +
        "If the payment provider does not respond, the last known state is returned.",
      errors: ["TopUpNotFound"]
    })
  )

const refreshByPost = HttpApiEndpoint.post("checkTopUp", "/api/reseller/topup/:orderID/check")
  .setPath(path)
  .addSuccess(TopUpOrderBody)
  .annotateContext(
    documented({
      summary: "Same as GET /api/reseller/topup/{orderID}",
      description: "The request has no body.",
      errors: ["TopUpNotFound"]
    })
  )

const listOrders = HttpApiEndpoint.get("listTopUps", "/api/reseller/topups")
  .setUrlParams(
    Schema.Struct({
      limit: parameter({
        type: "integer",
        minimum: 1,
        maximum: 100,
        default: 20,
        description: "The maximum number of orders per page."
      }),
      offset: parameter({
        type: "integer",
        minimum: 0,
        maximum: 2_147_483_647,
        default: 0,
        description: "The number of orders to skip."
      })
    })
  )
  .addSuccess(TopUpList)
  .annotateContext(documented({ summary: "List top-up orders", errors: ["ValidationFailed"] }))

export class TopUpsApi extends HttpApiGroup.make("topUps")
  .add(createOrder)
  .add(refreshByGet)
  .add(refreshByPost)
  .add(listOrders)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: top-ups",
      description: "Orders that add quota. An order is paid outside this API and then credited once."
    })
  ) {}

const qrUrlOf = Effect.flatMap(QrLinks, ({ urlOf }) => urlOf)

const createTopUp = forReseller(
  (reseller) =>
    Effect.gen(function* () {
      const request = yield* jsonBody(TopUpRequest)
      const { order, alreadyApplied } = yield* TopUps.createTopUp(reseller, request)
      const hasOperation = (request.operation_id ?? undefined) !== undefined
      const body: typeof CreatedTopUpOrder.Type = {
        ...toBody(order, yield* qrUrlOf),
        ...(hasOperation ? { already_applied: alreadyApplied } : {})
      }
      return body
    }),
  201
)

const refresh = (orderId: string) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      const order = yield* TopUps.refreshForReseller(id, orderId)
      return toBody(order, yield* qrUrlOf)
    })
  )

const listTopUps = (query: { readonly limit?: ParameterValues; readonly offset?: ParameterValues }) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      const { topUps, total } = yield* TopUps.listTopUps(id, yield* singleValues(query))
      const urlOf = yield* qrUrlOf
      const body: typeof TopUpList.Type = { topups: topUps.map((order) => toListed(order, urlOf)), total }
      return body
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(TopUpsApi), "topUps", (handlers) =>
  handlers
    .handleRaw("createTopUp", () => createTopUp)
    .handleRaw("getTopUp", ({ path: { orderID } }) => refresh(orderID))
    .handleRaw("checkTopUp", ({ path: { orderID } }) => refresh(orderID))
    .handleRaw("listTopUps", ({ urlParams }) => listTopUps(urlParams))
).pipe(
  withOnly(...resellerServices, PaymentProviders, OrderPayments, QrLinks, SmallBodies, TopUpOrders, TopUps.TopUpPolicy)
)
