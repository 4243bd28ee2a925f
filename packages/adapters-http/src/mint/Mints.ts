/**
 * Lists tiers and mints, and mints a tier to a customer: the tokens are added to the customer's plan, and the price is
 * deducted from the reseller's quota (docs/reference/reseller.md#tiers-and-mints).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { listMints, MintHistory } from "@tollgate/application/mint/MintHistory"
import { listTiers, Mints, Tiers } from "@tollgate/application/mint/Mints"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import { type ListedMint, MintRequest, type MintResult } from "@tollgate/domain/mint/Mint"
import { priceUsdMicroOf, type Tier, topupIdrRequiredOf } from "@tollgate/domain/mint/Tier"
import type { CursorQuery } from "@tollgate/domain/validation/Cursor"
import type { DaysQuery } from "@tollgate/domain/validation/Days"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { forReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import {
  digits,
  instant,
  integer,
  type MembersOf,
  type ParametersOf,
  singleValues,
  text,
  timestamp,
  unknownMembers,
  uuid,
  wholeNumber
} from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, dayParameters, nextCursor } from "../openapi/ListDocs.ts"
import { bodyErrors, documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"

const TIER = "019a9f0e-2222-7d1a-9a41-6f1f0d7b2c11"
const MODEL = "019a9f0e-3333-7d1a-9a41-6f1f0d7b2c11"
const USER = "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"

const TierBody = Schema.Struct({
  plan_tier_id: uuid("The tier's id, used to mint the tier.", TIER),
  model_id: uuid("The id of the model that the tokens are for.", MODEL),
  model_name: text("The model's public name.", "demo-chat"),
  tier_usd_cents: integer("The price in US cents.", 500),
  price_usd_micro: integer("The price in micro-USD, which each mint deducts from the quota.", 5_000_000),
  granted_tokens: integer("The number of tokens that the customer gets with one mint.", 2_000_000),
  topup_idr_required: integer(
    "The top-up amount in rupiah that pays for one mint. It does not include the QRIS fee.",
    50_000
  )
}).annotations({
  identifier: "Tier",
  examples: [
    {
      plan_tier_id: TIER,
      model_id: MODEL,
      model_name: "demo-chat",
      tier_usd_cents: 500,
      price_usd_micro: 5_000_000,
      granted_tokens: 2_000_000,
      topup_idr_required: 50_000
    }
  ]
})

const TierList = Schema.Struct({
  tiers: Schema.Array(TierBody).annotations({
    description: "Tiers are ordered by price, lowest first, then by model name."
  })
}).annotations({ identifier: "TierList" })

const exampleMint = { operation_id: "order-1042", customer_email: "customer@example.com", plan_tier_id: TIER }

const MintBody = Schema.Struct(
  {
    operation_id: Schema.String.annotations({
      jsonSchema: {
        type: "string",
        minLength: 1,
        maxLength: 128,
        description:
          "An id that you choose for this mint. A repeat of the same request with this id does not mint again.",
        examples: [exampleMint.operation_id]
      }
    }),
    customer_email: text("The email of an existing user of the service.", exampleMint.customer_email),
    plan_tier_id: text("A `plan_tier_id` from GET /api/reseller/tiers.", TIER)
  } satisfies MembersOf<typeof MintRequest>,
  unknownMembers
).annotations({ identifier: "MintRequest", examples: [exampleMint] })

const MintResultBody = Schema.Struct({
  customer_user_id: uuid("The id of the customer who got the tokens.", USER),
  model_id: uuid("The id of the model that the tokens are for.", MODEL),
  granted_tokens: integer("The number of tokens that the customer got.", 2_000_000),
  price_usd_micro: digits("The price that the mint deducted from the quota, in micro-USD.", "5000000"),
  balance_after: digits("The remaining quota directly after the mint, in micro-USD.", "20000000"),
  already_applied: Schema.Boolean.annotations({
    description: "True if an earlier request with this `operation_id` made this mint."
  })
}).annotations({
  identifier: "MintResult",
  examples: [
    {
      customer_user_id: USER,
      model_id: MODEL,
      granted_tokens: 2_000_000,
      price_usd_micro: "5000000",
      balance_after: "20000000",
      already_applied: false
    }
  ]
})

const exampleEntry = {
  operation_id: exampleMint.operation_id,
  customer_user_id: USER,
  customer_email: exampleMint.customer_email,
  plan_tier_id: TIER,
  model_id: MODEL,
  model_name: "demo-chat",
  granted_tokens: 2_000_000,
  price_usd_micro: "5000000",
  balance_after: "20000000",
  minted_at: "2026-11-20T09:30:00.000Z"
}

const MintEntryBody = Schema.Struct({
  operation_id: text("The id that you chose for the mint.", exampleEntry.operation_id),
  customer_user_id: uuid("The id of the customer who got the tokens.", USER),
  customer_email: text("The email of the customer.", exampleEntry.customer_email),
  plan_tier_id: uuid("The id of the tier.", TIER),
  model_id: uuid("The id of the model that the tokens are for.", MODEL),
  model_name: text("The model's public name.", exampleEntry.model_name),
  granted_tokens: integer("The number of tokens that the customer got.", exampleEntry.granted_tokens),
  price_usd_micro: digits("The price that the mint deducted from the quota, in micro-USD.", "5000000"),
  balance_after: digits("The remaining quota directly after the mint, in micro-USD.", "20000000"),
  minted_at: timestamp("The time of the mint.", exampleEntry.minted_at)
}).annotations({ identifier: "MintEntry", examples: [exampleEntry] })

const MintPageBody = Schema.Struct({
  data: Schema.Array(MintEntryBody).annotations({ description: "The mints, newest first." }),
  next_cursor: nextCursor
}).annotations({ identifier: "MintPage", examples: [{ data: [exampleEntry], next_cursor: null }] })

const readMints = HttpApiEndpoint.get("listMints", "/api/reseller/mints")
  .setUrlParams(Schema.Struct({ ...cursorParameters, ...dayParameters }))
  .addSuccess(MintPageBody)
  .annotateContext(
    documented({
      summary: "List the mints of the reseller",
      description: "Paging by cursor neither skips nor repeats a mint, even if there are new mints between two pages.",
      errors: ["ValidationFailed"]
    })
  )

const readTiers = HttpApiEndpoint.get("listTiers", "/api/reseller/tiers")
  .addSuccess(TierList)
  .annotateContext(documented({ summary: "List the tiers that can be minted", errors: [] }))

const createMint = HttpApiEndpoint.post("mintTier", "/api/reseller/mint")
  .setPayload(MintBody)
  .addSuccess(MintResultBody)
  .annotateContext(
    documented({
      summary: "Mint a tier to a customer",
      description:
        "Deducts the price from the quota and adds the tokens to the customer's plan, atomically and once per " +
        "`operation_id`. A reseller can make at most 30 mints per minute; a repeat of an earlier mint does not count.",
      errors: [...bodyErrors, "InsufficientQuota", "IdempotencyConflict", "TierNotAvailable", "RateLimited"]
    })
  )

export class MintsApi extends HttpApiGroup.make("mints")
  .add(readTiers)
  .add(createMint)
  .add(readMints)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: tiers and mints",
      description: "Tiers for sale, and the mints that add their tokens to the plans of customers."
    })
  ) {}

/** Copies the members by name: a member that is added to a tier is not shown to resellers by mistake. */
const toTier = (tier: Tier): typeof TierBody.Type => ({
  plan_tier_id: tier.id,
  model_id: tier.modelId,
  model_name: tier.modelName,
  tier_usd_cents: wholeNumber(tier.tierUsdCents),
  price_usd_micro: wholeNumber(priceUsdMicroOf(tier)),
  granted_tokens: wholeNumber(tier.grantedTokens),
  topup_idr_required: wholeNumber(topupIdrRequiredOf(tier))
})

const toResult = ({ mint, alreadyApplied }: MintResult): typeof MintResultBody.Type => ({
  customer_user_id: mint.customerUserId,
  model_id: mint.modelId,
  granted_tokens: wholeNumber(mint.grantedTokens),
  price_usd_micro: mint.priceUsdMicro.toString(),
  balance_after: mint.balanceAfter.toString(),
  already_applied: alreadyApplied
})

const tierList = forReseller(() =>
  Effect.map(listTiers, (tiers): typeof TierList.Type => ({ tiers: tiers.map(toTier) }))
)

const mintTier = forReseller(({ id }) =>
  Effect.gen(function* () {
    const request = yield* jsonBody(MintRequest)
    return toResult(yield* (yield* Mints).mint(id, request))
  })
)

const toEntry = (mint: ListedMint): typeof MintEntryBody.Type => ({
  operation_id: mint.operationId,
  customer_user_id: mint.customerUserId,
  customer_email: mint.customerEmail,
  plan_tier_id: mint.planTierId,
  model_id: mint.modelId,
  model_name: mint.modelName,
  granted_tokens: wholeNumber(mint.grantedTokens),
  price_usd_micro: mint.priceUsdMicro.toString(),
  balance_after: mint.balanceAfter.toString(),
  minted_at: instant(mint.mintedAt)
})

const mintPage = (query: ParametersOf<CursorQuery & DaysQuery>) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      const { items, nextCursor } = yield* listMints(id, yield* singleValues(query))
      const body: typeof MintPageBody.Type = { data: items.map(toEntry), next_cursor: nextCursor }
      return body
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(MintsApi), "mints", (handlers) =>
  handlers
    .handleRaw("listTiers", () => tierList)
    .handleRaw("mintTier", () => mintTier)
    .handleRaw("listMints", ({ urlParams }) => mintPage(urlParams))
).pipe(withOnly(...resellerServices, CursorSealer, MintHistory, Mints, SmallBodies, Tiers))
