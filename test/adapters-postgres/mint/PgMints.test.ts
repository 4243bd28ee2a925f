import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { ResponseTimeout } from "@tollgate/adapters-postgres/client/ResponseTimeout"
import * as PgMints from "@tollgate/adapters-postgres/mint/PgMints"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { Users } from "@tollgate/application/customer/Users"
import { Mints, Tiers } from "@tollgate/application/mint/Mints"
import { DatabaseUnavailable } from "@tollgate/application/operations/Database"
import type { MintRequest } from "@tollgate/domain/mint/Mint"
import { priceList, TierNotAvailable } from "@tollgate/domain/mint/Tier"
import { IdempotencyConflict } from "@tollgate/domain/operations/Operation"
import { InsufficientQuota } from "@tollgate/domain/reseller/QuotaAdjustment"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { Email } from "@tollgate/domain/validation/Email"
import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import { Effect, Either, Exit, Layer } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"
import { clientLayer, TestDatabase } from "../../support/TestDatabase.ts"
import { Cable } from "../client/Cable.ts"

const { anOperation, aReseller, balance } = Programme

/** The ids of the two tiers that the tests mint, at 5 and 9 USD for the same model. */
const sold = Effect.map(Programme.tiersOf("sold", [500, 2_000_000], [900, 4_000_000]), ([small, large]) => ({
  small: small?.id ?? "",
  large: large?.id ?? ""
}))

const mintRequest = (planTierId: string, customerEmail: Email, operationId = anOperation()): MintRequest => ({
  operationId,
  customerEmail,
  planTierId
})
const mint = (resellerId: ResellerId, request: MintRequest) =>
  Effect.flatMap(Mints, (mints) => mints.mint(resellerId, request))

const plans = (email: Email) =>
  Effect.flatMap(Users, (users) =>
    Effect.map(Effect.flatMap(users.find(email), users.balances), ({ plans }) => plans)
  ).pipe(Effect.orDie)

const count = (table: "mint" | "transfer" | "account") =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ n: bigint }>`SELECT count(*) AS n FROM ${sql(table)}`, ([row]) => row?.n)
  ).pipe(Effect.orDie)

describe("mints", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("debit the price from the quota and grant the tokens", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { small } = yield* sold
        const reseller = yield* aReseller(12_000_000n)
        const { id: userId, email } = yield* Stores.aUser
        const request = mintRequest(small, email)
        const { mint: minted, alreadyApplied } = yield* mint(reseller.id, request)
        expect(alreadyApplied).toBe(false)
        expect(minted).toMatchObject({
          resellerId: reseller.id,
          operationId: request.operationId,
          customerUserId: userId,
          planTierId: small,
          grantedTokens: 2_000_000n,
          priceUsdMicro: 5_000_000n,
          balanceAfter: 7_000_000n
        })
        expect(Programme.isNow(minted.mintedAt)).toBe(true)
        expect(yield* balance(reseller.id)).toBe(7_000_000n)
        expect(yield* plans(email)).toMatchObject([
          { model: "sold", purchased: 2_000_000n, used: 0n, status: "active" }
        ])
        expect(yield* sql`SELECT code, amount, actor FROM transfer WHERE ref = ${minted.id} ORDER BY code`).toEqual([
          { code: "mint_grant", amount: 2_000_000n, actor: `reseller:${reseller.id}` },
          { code: "mint_pay", amount: 5_000_000n, actor: `reseller:${reseller.id}` }
        ])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("add tokens to an existing plan", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { small, large } = yield* sold
        const reseller = yield* aReseller(50_000_000n)
        const { id, email } = yield* Stores.aUser
        yield* mint(reseller.id, mintRequest(small, email))
        yield* sql`UPDATE account SET debits_pending = 77 WHERE user_id = ${id}`
        yield* mint(reseller.id, mintRequest(large, email))
        expect(yield* plans(email)).toMatchObject([{ purchased: 6_000_000n }])
        expect(yield* sql`SELECT debits_pending FROM account WHERE user_id = ${id}`).toEqual([{ debits_pending: 77n }])
        yield* sql`UPDATE account SET debits_pending = 0 WHERE user_id = ${id}`
      })
    )

    it.effect("return the first result when repeated", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const reseller = yield* aReseller(5_000_000n)
        const { email } = yield* Stores.aUser
        const request = mintRequest(small, email)
        const first = yield* mint(reseller.id, request)
        yield* mint((yield* aReseller(5_000_000n)).id, mintRequest(small, email))
        yield* (yield* Catalogs).apply(Stores.catalogOf({ public_name: "other" }), Stores.operator)
        expect(yield* mint(reseller.id, request)).toEqual({ ...first, alreadyApplied: true })
        expect(yield* balance(reseller.id)).toBe(0n)
      })
    )

    it.scoped("are booked once when the caller repeats a request with an unknown outcome", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const reseller = yield* aReseller(20_000_000n)
        const { email } = yield* Stores.aUser
        const request = mintRequest(small, email)
        const database = yield* TestDatabase
        const cable = yield* Cable.scoped(database.settings)
        const throughCable = yield* Layer.build(
          Layer.provide(PgMints.layer, clientLayer({ ...database, settings: cable.settings }))
        ).pipe(Effect.provideService(ResponseTimeout, 3_000))
        void cable.atNextCommit("response stuck")
        const unknown = yield* Effect.exit(Effect.provide(mint(reseller.id, request), throughCable))
        expect(unknown).toEqual(Exit.die(expect.any(DatabaseUnavailable)))
        expect(yield* Effect.provide(mint(reseller.id, request), throughCable)).toMatchObject({ alreadyApplied: true })
        expect(yield* balance(reseller.id)).toBe(15_000_000n)
      })
    )

    it.effect("refuse an operation id that was used for another customer or tier", () =>
      Effect.gen(function* () {
        const { small, large } = yield* sold
        const [one, other] = [yield* aReseller(20_000_000n), yield* aReseller(20_000_000n)]
        const [{ email }, { email: second }] = [yield* Stores.aUser, yield* Stores.aUser]
        const request = mintRequest(small, email)
        yield* mint(one.id, request)
        for (const changed of [
          { ...request, planTierId: large },
          { ...request, customerEmail: second },
          { ...request, customerEmail: Stores.anEmail() }
        ]) {
          expect(yield* Effect.flip(mint(one.id, changed))).toEqual(new IdempotencyConflict())
        }
        expect((yield* mint(other.id, request)).alreadyApplied).toBe(false)
        expect(yield* balance(one.id)).toBe(15_000_000n)
      })
    )

    it.effect("write nothing when they are refused", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const poor = yield* aReseller(4_999_999n)
        const { email } = yield* Stores.aUser
        const before = [yield* count("mint"), yield* count("transfer"), yield* count("account")]
        const request = mintRequest(small, email)
        expect(yield* Effect.flip(mint(poor.id, request))).toEqual(
          new InsufficientQuota({ balanceUsdMicro: 4_999_999n, neededUsdMicro: 5_000_000n })
        )
        const unknownCustomer = yield* Effect.flip(mint(poor.id, mintRequest(small, Stores.anEmail())))
        expect(unknownCustomer).toBeInstanceOf(ValidationFailed)
        expect(unknownCustomer).toMatchObject({ details: [{ path: "customer_email" }] })
        const noTier = "0193a5c2-0000-7000-8000-000000000000"
        for (const tier of [noTier, "no uuid", "'; --", `${small} `, "\u{1f984}"]) {
          expect(yield* Effect.flip(mint(poor.id, mintRequest(tier, email)))).toEqual(new TierNotAvailable())
        }
        expect([yield* count("mint"), yield* count("transfer"), yield* count("account")]).toEqual(before)
        yield* Programme.adjust(poor.id, 1n)
        expect((yield* mint(poor.id, request)).mint.balanceAfter).toBe(0n)
      })
    )

    it.effect("are refused for a tier that is not for sale", () =>
      Effect.gen(function* () {
        const { small, large } = yield* sold
        const reseller = yield* aReseller(20_000_000n)
        const { email } = yield* Stores.aUser
        yield* Programme.tiersOf("sold", [500, 2_000_000])
        expect(yield* Effect.flip(mint(reseller.id, mintRequest(large, email)))).toEqual(new TierNotAvailable())
        yield* (yield* Catalogs).apply(
          Stores.catalogOf({
            public_name: "sold",
            hidden: true,
            tiers: [{ tier_usd_cents: 500, granted_tokens: 2_000_000 }]
          }),
          Stores.operator
        )
        expect(yield* Effect.flip(mint(reseller.id, mintRequest(small, email)))).toEqual(new TierNotAvailable())
      })
    )

    it.scoped("are made once for two hundred requests with one operation id", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const here = yield* Mints
        const there = yield* Effect.provide(Mints, yield* Programme.anotherNode)
        const reseller = yield* aReseller(50_000_000n)
        const { email } = yield* Stores.aUser
        const request = mintRequest(small, email)
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 200 }),
          (_, i) => (i % 2 === 0 ? here : there).mint(reseller.id, request),
          { concurrency: 40 }
        )
        expect(outcomes.filter(({ alreadyApplied }) => !alreadyApplied)).toHaveLength(1)
        for (const { mint } of outcomes) expect(mint).toEqual(outcomes[0]?.mint)
        expect(yield* balance(reseller.id)).toBe(45_000_000n)
        expect(yield* plans(email)).toMatchObject([{ purchased: 2_000_000n }])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("are allowed for thirty of a reseller's three hundred requests on two nodes", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const here = yield* Mints
        const there = yield* Effect.provide(Mints, yield* Programme.anotherNode)
        const reseller = yield* aReseller(5_000_000_000n)
        const customers = yield* Effect.all([Stores.aUser, Stores.aUser, Stores.aUser])
        const requests = Array.from({ length: 300 }, (_, i) =>
          mintRequest(small, customers[i % 3]?.email ?? Stores.anEmail())
        )
        const outcomes = yield* Effect.forEach(
          requests,
          (request, i) => Effect.either((i % 2 === 0 ? here : there).mint(reseller.id, request)),
          { concurrency: 40 }
        )
        expect(outcomes.filter(Either.isRight)).toHaveLength(30)
        for (const refused of outcomes.filter(Either.isLeft)) expect(refused.left).toBeInstanceOf(RateLimited)
        expect(yield* balance(reseller.id)).toBe(4_850_000_000n)

        // Repeated requests do not count towards the limit, and other resellers have their own limit.
        const first = outcomes.findIndex(Either.isRight)
        expect((yield* mint(reseller.id, requests[first] as MintRequest)).alreadyApplied).toBe(true)
        const other = yield* aReseller(5_000_000n)
        yield* mint(other.id, mintRequest(small, customers[0].email))
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("succeed twice in twenty concurrent requests if the quota covers two", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const reseller = yield* aReseller(14_000_000n)
        const { email } = yield* Stores.aUser
        const outcomes = yield* Effect.all(
          Array.from({ length: 20 }, () => Effect.either(mint(reseller.id, mintRequest(small, email)))),
          { concurrency: "unbounded" }
        )
        expect(outcomes.filter(Either.isRight)).toHaveLength(2)
        expect(yield* balance(reseller.id)).toBe(4_000_000n)
      })
    )

    it.effect("add to one plan when eight resellers mint concurrently for one customer", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const resellers = yield* Effect.all(Array.from({ length: 8 }, () => aReseller(5_000_000n)))
        const { email } = yield* Stores.aUser
        yield* Effect.forEach(resellers, ({ id }) => mint(id, mintRequest(small, email)), { concurrency: "unbounded" })
        expect(yield* plans(email)).toMatchObject([{ purchased: 16_000_000n }])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )
  })
})

const all = Effect.flatMap(Tiers, (tiers) => tiers.all)
const tier = (cents: number, tokens: number, for_sale = true) => ({
  tier_usd_cents: cents,
  granted_tokens: tokens,
  for_sale
})
const apply = (...models: ReadonlyArray<{ readonly public_name: string; readonly [member: string]: unknown }>) =>
  Effect.flatMap(Catalogs, (catalogs) => catalogs.apply(Stores.catalogOf(...models), Stores.operator))

// Each test applies its own catalog after the catalog of the previous test.
describe("tiers", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("are listed with their models", () =>
      Effect.gen(function* () {
        yield* apply(
          { public_name: "a", tiers: [tier(500, 2_000_000), tier(100, 300_000, false)] },
          { public_name: "b", hidden: true, tiers: [tier(500, 1)] }
        )
        const models = (yield* (yield* Catalogs).load).models
        const found = yield* all
        expect(found.map(({ id, ...rest }) => rest)).toEqual(
          expect.arrayContaining([
            {
              modelId: models.find(({ publicName }) => publicName === "a")?.id,
              modelName: "a",
              modelCallable: true,
              tierUsdCents: 500n,
              grantedTokens: 2_000_000n,
              forSale: true
            },
            expect.objectContaining({ modelName: "a", tierUsdCents: 100n, forSale: false }),
            expect.objectContaining({ modelName: "b", modelCallable: false, forSale: true })
          ])
        )
        expect(found).toHaveLength(3)
      })
    )

    it.effect("keep their ids when the catalog changes or removes them", () =>
      Effect.gen(function* () {
        const sold = { public_name: "kept", tiers: [tier(500, 10), tier(900, 20)] }
        const ofKept = Effect.map(all, (tiers) => tiers.filter(({ modelName }) => modelName === "kept"))
        const ids = Effect.map(ofKept, (tiers) => new Map(tiers.map(({ tierUsdCents, id }) => [tierUsdCents, id])))
        yield* apply(sold)
        const first = yield* ids
        expect(first.size).toBe(2)
        yield* apply({ ...sold, tiers: [tier(900, 25)] })
        expect(yield* ids).toEqual(first)
        yield* apply({ public_name: "another" })
        expect((yield* ofKept).map(({ forSale, modelCallable }) => [forSale, modelCallable])).toEqual([
          [false, false],
          [false, false]
        ])
        yield* apply(sold)
        expect(yield* ids).toEqual(first)
        expect(priceList(yield* ofKept).map(({ grantedTokens }) => grantedTokens)).toEqual([10n, 20n])
      })
    )
  })
})
