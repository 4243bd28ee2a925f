/**
 * What customers have left (spec: Reseller: balances).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { integer, text, timestamp, uuid } from "../openapi/Fields.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"

const USER = "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"
const KEY = "019a9f0e-5555-7d1a-9a41-6f1f0d7b2c11"
const AT = "2026-11-20T09:30:00.000Z"

const userId = uuid("The customer's id.", USER)
const keyId = uuid("The key that was asked about; it may be revoked.", KEY)

const shared = {
  customer_user_id: userId,
  payg: Schema.Struct({
    currency: Schema.Literal("USD"),
    balance: text("Pay-as-you-go, in USD with six decimals.", "12.345678")
  }).annotations({ description: "What pays when no plan does." }),
  token_plans: Schema.Array(
    Schema.Struct({
      model: text("The public name of the model its tokens are for.", "gpt-5-mini"),
      purchased_tokens: integer("All tokens ever minted to it.", 2_000_000),
      used_tokens: integer("Those that were used.", 150_000),
      remaining_tokens: integer("Purchased minus used.", 1_850_000),
      status: Schema.Literal("active", "exhausted").annotations({
        description: "`active` while tokens remain, else `exhausted`."
      })
    }).annotations({ identifier: "TokenPlan" })
  ).annotations({ description: "One for each model." }),
  as_of: timestamp("When all this was so.", AT)
}

const example = {
  customer_user_id: USER,
  payg: { currency: "USD" as const, balance: "12.345678" },
  token_plans: [
    {
      model: "gpt-5-mini",
      purchased_tokens: 2_000_000,
      used_tokens: 150_000,
      remaining_tokens: 1_850_000,
      status: "active" as const
    }
  ],
  as_of: AT
}

export const CustomerBalancesBody = Schema.Struct(shared).annotations({
  identifier: "CustomerBalances",
  examples: [example]
})

export const KeyBalancesBody = Schema.Struct({ key_id: keyId, ...shared }).annotations({
  identifier: "KeyBalances",
  examples: [{ key_id: KEY, ...example }]
})

const keyBalances = HttpApiEndpoint.get("keyBalances", "/api/reseller/keys/:keyID/balances")
  .setPath(Schema.Struct({ keyID: keyId }))
  .addSuccess(KeyBalancesBody)
  .annotateContext(
    documented({
      summary: "What the owner of a key has left",
      description: "Also of a revoked key.",
      errors: ["NotFound", "ValidationFailed"]
    })
  )

const customerBalances = HttpApiEndpoint.get("customerBalances", "/api/reseller/customers/:userID/balances")
  .setPath(Schema.Struct({ userID: userId }))
  .addSuccess(CustomerBalancesBody)
  .annotateContext(documented({ summary: "What a customer has left", errors: ["NotFound", "ValidationFailed"] }))

export class BalancesApi extends HttpApiGroup.make("balances")
  .add(keyBalances)
  .add(customerBalances)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Reseller: balances" })) {}
