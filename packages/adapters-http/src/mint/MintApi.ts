/**
 * Tiers, and giving them to customers (spec: Reseller: minting and tiers).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import type { MintRequest } from "@tollgate/domain/mint/Mint"
import * as Schema from "effect/Schema"
import { digits, integer, type MembersOf, text, unknownMembers, uuid } from "../openapi/Fields.ts"
import { documented, ofBodies, ResellerError } from "../openapi/ResellerDocs.ts"

const TIER = "019a9f0e-2222-7d1a-9a41-6f1f0d7b2c11"
const MODEL = "019a9f0e-3333-7d1a-9a41-6f1f0d7b2c11"

export const TierBody = Schema.Struct({
  plan_tier_id: uuid("What to mint.", TIER),
  model_id: uuid("The model its tokens are for.", MODEL),
  model_name: text("The model's public name.", "gpt-5-mini"),
  tier_usd_cents: integer("The price in US cents.", 500),
  price_usd_micro: integer("The same in micro-USD: what a mint takes from the quota.", 5_000_000),
  granted_tokens: integer("How many tokens the customer gets.", 2_000_000),
  topup_idr_required: integer("How much to top up in rupiah for one, without the QRIS fee.", 50_000)
}).annotations({
  identifier: "Tier",
  examples: [
    {
      plan_tier_id: TIER,
      model_id: MODEL,
      model_name: "gpt-5-mini",
      tier_usd_cents: 500,
      price_usd_micro: 5_000_000,
      granted_tokens: 2_000_000,
      topup_idr_required: 50_000
    }
  ]
})

export const TierList = Schema.Struct({
  tiers: Schema.Array(TierBody).annotations({ description: "Cheapest first, then by model name." })
}).annotations({ identifier: "TierList" })

const mint = { operation_id: "order-1042", customer_email: "customer@example.com", plan_tier_id: TIER }

const MintBody = Schema.Struct(
  {
    operation_id: Schema.String.annotations({
      jsonSchema: {
        type: "string",
        minLength: 1,
        maxLength: 128,
        description: "Your name for this mint: sent again with the same members it mints nothing more.",
        examples: [mint.operation_id]
      }
    }),
    customer_email: text("The email of a user of the service.", mint.customer_email),
    plan_tier_id: text("As GET /api/reseller/tiers lists it.", TIER)
  } satisfies MembersOf<typeof MintRequest>,
  unknownMembers
).annotations({ identifier: "MintRequest", examples: [mint] })

export const MintResultBody = Schema.Struct({
  customer_user_id: uuid("Who got the tokens.", "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"),
  model_id: uuid("For which model.", MODEL),
  granted_tokens: integer("How many.", 2_000_000),
  price_usd_micro: digits("What the mint took from the quota, in micro-USD.", "5000000"),
  balance_after: digits("The quota right after it, in micro-USD.", "20000000"),
  already_applied: Schema.Boolean.annotations({ description: "True when this `operation_id` had minted before." })
}).annotations({
  identifier: "MintResult",
  examples: [
    {
      customer_user_id: "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11",
      model_id: MODEL,
      granted_tokens: 2_000_000,
      price_usd_micro: "5000000",
      balance_after: "20000000",
      already_applied: false
    }
  ]
})

const listTiers = HttpApiEndpoint.get("listTiers", "/api/reseller/tiers")
  .addSuccess(TierList)
  .annotateContext(documented({ summary: "What can be minted", errors: [] }))

const mintTier = HttpApiEndpoint.post("mintTier", "/api/reseller/mint")
  .setPayload(MintBody)
  .addSuccess(MintResultBody)
  .annotateContext(
    documented({
      summary: "Give a tier to a customer",
      description:
        "Takes its price from the quota and adds its tokens to the customer's plan: both or neither, and once for each " +
        "`operation_id`. At most 30 mints a minute; replays do not count.",
      errors: [...ofBodies, "InsufficientQuota", "IdempotencyConflict", "TierNotAvailable", "RateLimited"]
    })
  )

export class MintApi extends HttpApiGroup.make("mints")
  .add(listTiers)
  .add(mintTier)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Reseller: tiers and mints" })) {}
