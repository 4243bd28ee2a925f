/**
 * Reads a customer's balances: the pay-as-you-go balance and the token plans
 * (docs/reference/balances-and-usage.md#bal-1).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as useCases from "@tollgate/application/customer/Balances"
import { type BalancesStatement, keyBalances } from "@tollgate/application/customer/Balances"
import { InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { floorToUsd } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { forReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { withOnly } from "../http/RouteServices.ts"
import { instant, integer, text, timestamp, uuid, wholeNumber } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { afterSettlements } from "./AfterSettlements.ts"

const USER = "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"
const KEY = "019a9f0e-5555-7d1a-9a41-6f1f0d7b2c11"
const AT = "2026-11-20T09:30:00.000Z"

const userId = uuid("The customer's id.", USER)
const keyId = uuid("The id of the API key, which can be a revoked key.", KEY)

const balances = {
  customer_user_id: userId,
  payg: Schema.Struct({
    currency: Schema.Literal("USD"),
    balance: text("The pay-as-you-go balance in USD with six decimals.", "12.345678")
  }).annotations({
    description: "The balance that pays for the tokens that the token plan of a model does not cover."
  }),
  token_plans: Schema.Array(
    Schema.Struct({
      model: text("The public name of the model that the tokens are for.", "demo-chat"),
      purchased_tokens: integer("The number of tokens added to the plan in total.", 2_000_000),
      used_tokens: integer("The number of the plan's tokens that settled requests have used.", 150_000),
      remaining_tokens: integer("The purchased tokens minus the used tokens.", 1_850_000),
      status: Schema.Literal("active", "exhausted").annotations({
        description: "`active` while tokens remain, otherwise `exhausted`."
      })
    }).annotations({ identifier: "TokenPlan" })
  ).annotations({ description: "The token plans; at most one for each model." }),
  as_of: timestamp("The time at which the balances were read.", AT)
}

const example = {
  customer_user_id: USER,
  payg: { currency: "USD" as const, balance: "12.345678" },
  token_plans: [
    {
      model: "demo-chat",
      purchased_tokens: 2_000_000,
      used_tokens: 150_000,
      remaining_tokens: 1_850_000,
      status: "active" as const
    }
  ],
  as_of: AT
}

const CustomerBalancesBody = Schema.Struct(balances).annotations({
  identifier: "CustomerBalances",
  examples: [example]
})

export const exampleKeyBalances = { key_id: KEY, ...example }

export const KeyBalancesBody = Schema.Struct({ key_id: keyId, ...balances }).annotations({
  identifier: "KeyBalances",
  examples: [exampleKeyBalances]
})

const readKeyBalances = HttpApiEndpoint.get("getKeyBalances", "/api/reseller/keys/:keyID/balances")
  .setPath(Schema.Struct({ keyID: keyId }))
  .addSuccess(KeyBalancesBody)
  .annotateContext(
    documented({
      summary: "Read the balances of the customer who owns an API key",
      description: "A revoked key is accepted too.",
      errors: ["NotFound", "ValidationFailed"]
    })
  )

const readCustomerBalances = HttpApiEndpoint.get("getCustomerBalances", "/api/reseller/customers/:userID/balances")
  .setPath(Schema.Struct({ userID: userId }))
  .addSuccess(CustomerBalancesBody)
  .annotateContext(documented({ summary: "Read the balances of a customer", errors: ["NotFound", "ValidationFailed"] }))

export class BalancesApi extends HttpApiGroup.make("balances")
  .add(readKeyBalances)
  .add(readCustomerBalances)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: balances",
      description: "The balances of the reseller's customers."
    })
  ) {}

const toBody = ({ userId, balances, asOf }: BalancesStatement): typeof CustomerBalancesBody.Type => ({
  customer_user_id: userId,
  payg: { currency: "USD", balance: floorToUsd(balances.paygPico) },
  token_plans: balances.plans.map(({ model, purchased, used, remaining, status }) => ({
    model,
    purchased_tokens: wholeNumber(purchased),
    used_tokens: wholeNumber(used),
    remaining_tokens: wholeNumber(remaining),
    status
  })),
  as_of: instant(asOf)
})

export const toKeyBalances = (
  statement: BalancesStatement & { readonly keyId: ApiKeyId }
): typeof KeyBalancesBody.Type => ({ key_id: statement.keyId, ...toBody(statement) })

const balancesOfCustomer = (userId: string) =>
  forReseller(({ id }) => Effect.map(afterSettlements(useCases.customerBalances(id, userId)), toBody))

const balancesOfKeyOwner = (keyId: string) =>
  forReseller(({ id }) => Effect.map(afterSettlements(keyBalances(id, keyId)), toKeyBalances))

export const layer = HttpApiBuilder.group(gateway.add(BalancesApi), "balances", (handlers) =>
  handlers
    .handleRaw("getKeyBalances", ({ path: { keyID } }) => balancesOfKeyOwner(keyID))
    .handleRaw("getCustomerBalances", ({ path: { userID } }) => balancesOfCustomer(userID))
).pipe(withOnly(...resellerServices, useCases.Balances, InferenceLedger))
