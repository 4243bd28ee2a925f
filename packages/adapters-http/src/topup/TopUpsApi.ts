/**
 * Orders for quota (spec: Reseller: top-ups).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { PaymentMethod, TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import type { TopUpRequest } from "@tollgate/domain/topup/TopUpRequest"
import * as Schema from "effect/Schema"
import { integer, type MembersOf, parameter, unknownMembers, uuid } from "../openapi/Fields.ts"
import { documented, ofBodies, ResellerError } from "../openapi/ResellerDocs.ts"
import { ListedTopUpOrder, TopUpOrderBody } from "./TopUpOrderBody.ts"

const TopUpRequestBody = Schema.Struct(
  {
    method: PaymentMethod.annotations({
      description:
        "`qris`: rupiah, with a fee of 5 %. `hosted_qris`: rupiah, no fee. `crypto`: USDT or USDC, one for one. " +
        "`crypto_bep20`: the same on the BNB Smart Chain, to an address of the order's own."
    }),
    amount_idr: Schema.optional(
      integer("The principal in rupiah; needed for the QRIS methods, and only there.", 250_000)
    ),
    amount_usd_micro: Schema.optional(
      integer("The amount in micro-USD; needed for the crypto methods, and only there.", 25_000_000)
    ),
    token_kind: Schema.optional(
      TokenKind.annotations({ description: "For `crypto_bep20`, `usdt` unless given; ignored by the others." })
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

export const TopUpList = Schema.Struct({
  topups: Schema.Array(ListedTopUpOrder).annotations({ description: "Newest first." }),
  total: integer("How many orders the reseller has, on all pages together.", 42)
}).annotations({ identifier: "TopUpList" })

const path = Schema.Struct({ orderID: uuid("The `id` of the order.", "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70") })

const createTopUp = HttpApiEndpoint.post("createTopUp", "/api/reseller/topup")
  .setPayload(TopUpRequestBody)
  .addSuccess(TopUpOrderBody, { status: 201 })
  .annotateContext(
    documented({
      summary: "Order quota",
      description: "The answer says what to pay and where; ask for the order until it is `credited`.",
      errors: [...ofBodies, "AmountOutOfRange", "PaymentProviderUnavailable"]
    })
  )

const getTopUp = HttpApiEndpoint.get("getTopUp", "/api/reseller/topup/:orderID")
  .setPath(path)
  .addSuccess(TopUpOrderBody)
  .annotateContext(
    documented({
      summary: "An order as it is now",
      description:
        "Asks the payment provider, and credits what was paid. When the provider does not answer, the order is told " +
        "as it was last known.",
      errors: ["TopUpNotFound"]
    })
  )

const checkTopUp = HttpApiEndpoint.post("checkTopUp", "/api/reseller/topup/:orderID/check")
  .setPath(path)
  .addSuccess(TopUpOrderBody)
  .annotateContext(
    documented({
      summary: "The same as GET /api/reseller/topup/{orderID}",
      description: "Kept for clients that know no other. Has no body.",
      errors: ["TopUpNotFound"]
    })
  )

const listTopUps = HttpApiEndpoint.get("listTopUps", "/api/reseller/topups")
  .setUrlParams(
    Schema.Struct({
      limit: parameter({ type: "integer", minimum: 1, maximum: 100, default: 20, description: "How many." }),
      offset: parameter({ type: "integer", minimum: 0, default: 0, description: "After how many." })
    })
  )
  .addSuccess(TopUpList)
  .annotateContext(documented({ summary: "All orders, page by page", errors: ["ValidationFailed"] }))

export class TopUpsApi extends HttpApiGroup.make("topUps")
  .add(createTopUp)
  .add(getTopUp)
  .add(checkTopUp)
  .add(listTopUps)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Reseller: top-ups" })) {}
