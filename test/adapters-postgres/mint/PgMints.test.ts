import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { Users } from "@tollgate/application/customer/Users"
import { Mints } from "@tollgate/application/mint/Mints"
import { IdempotencyConflict, type MintRequest } from "@tollgate/domain/mint/Mint"
import { TierNotAvailable } from "@tollgate/domain/mint/Tier"
import { InsufficientQuota } from "@tollgate/domain/reseller/QuotaAdjustment"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { Email } from "@tollgate/domain/validation/Email"
import { RateLimited } from "@tollgate/domain/validation/RequestErrors"
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import { Effect, Either } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const { anOperation, aReseller, balance } = Programme

/** The model of all tests, sold at 5 and 9 USD. */
const sold = Effect.map(Programme.tiersOf("sold", [500, 2_000_000], [900, 4_000_000]), ([small, large]) => ({
  small: small?.id ?? "",
  large: large?.id ?? ""
}))

const ask = (planTierId: string, customerEmail: Email, operationId = anOperation()): MintRequest => ({
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

describe("mints in Postgres", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("take the price from the quota and give the tokens to the customer, who need not be the reseller's", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { small } = yield* sold
        const reseller = yield* aReseller(12_000_000n)
        const { id: userId, email } = yield* Stores.aUser
        const request = ask(small, email)
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

    it.effect("add to a plan that is there, and leave what is held of it alone", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { small, large } = yield* sold
        const reseller = yield* aReseller(50_000_000n)
        const { id, email } = yield* Stores.aUser
        yield* mint(reseller.id, ask(small, email))
        yield* sql`UPDATE account SET debits_pending = 77 WHERE user_id = ${id}`
        yield* mint(reseller.id, ask(large, email))
        expect(yield* plans(email)).toMatchObject([{ purchased: 6_000_000n }])
        expect(yield* sql`SELECT debits_pending FROM account WHERE user_id = ${id}`).toEqual([{ debits_pending: 77n }])
        yield* sql`UPDATE account SET debits_pending = 0 WHERE user_id = ${id}`
      })
    )

    it.effect("a repeat is told what was done then, whatever has become of tier, quota and plan", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const reseller = yield* aReseller(5_000_000n)
        const { email } = yield* Stores.aUser
        const request = ask(small, email)
        const first = yield* mint(reseller.id, request)
        yield* (yield* Catalogs).apply(Stores.catalogOf({ public_name: "other" }), Stores.operator)
        expect(yield* mint(reseller.id, request)).toEqual({ ...first, alreadyApplied: true })
        expect(yield* balance(reseller.id)).toBe(0n)
      })
    )

    it.effect("an operation id is the reseller's own, and stands for one customer and one tier", () =>
      Effect.gen(function* () {
        const { small, large } = yield* sold
        const [one, other] = [yield* aReseller(20_000_000n), yield* aReseller(20_000_000n)]
        const [{ email }, { email: second }] = [yield* Stores.aUser, yield* Stores.aUser]
        const request = ask(small, email)
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

    it.effect("a refusal writes nothing, not even an empty plan, and leaves the id free", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const poor = yield* aReseller(4_999_999n)
        const { email } = yield* Stores.aUser
        const before = [yield* count("mint"), yield* count("transfer"), yield* count("account")]
        const request = ask(small, email)
        expect(yield* Effect.flip(mint(poor.id, request))).toEqual(
          new InsufficientQuota({ balanceUsdMicro: 4_999_999n, neededUsdMicro: 5_000_000n })
        )
        const nobody = yield* Effect.flip(mint(poor.id, ask(small, Stores.anEmail())))
        expect(nobody).toBeInstanceOf(ValidationFailed)
        expect(nobody).toMatchObject({ details: [{ path: "customer_email" }] })
        const noTier = "0193a5c2-0000-7000-8000-000000000000"
        for (const tier of [noTier, "no uuid", "'; --", `${small} `, "\u{1f984}"]) {
          expect(yield* Effect.flip(mint(poor.id, ask(tier, email)))).toEqual(new TierNotAvailable())
        }
        expect([yield* count("mint"), yield* count("transfer"), yield* count("account")]).toEqual(before)
        yield* Programme.adjust(poor.id, 1n)
        expect((yield* mint(poor.id, request)).mint.balanceAfter).toBe(0n)
      })
    )

    it.effect("of a tier or model that is not for sale are refused", () =>
      Effect.gen(function* () {
        const { small, large } = yield* sold
        const reseller = yield* aReseller(20_000_000n)
        const { email } = yield* Stores.aUser
        yield* Programme.tiersOf("sold", [500, 2_000_000])
        expect(yield* Effect.flip(mint(reseller.id, ask(large, email)))).toEqual(new TierNotAvailable())
        yield* (yield* Catalogs).apply(
          Stores.catalogOf({
            public_name: "sold",
            hidden: true,
            tiers: [{ tier_usd_cents: 500, granted_tokens: 2_000_000 }]
          }),
          Stores.operator
        )
        expect(yield* Effect.flip(mint(reseller.id, ask(small, email)))).toEqual(new TierNotAvailable())
      })
    )

    it.scoped("two hundred posts of one operation id, on two nodes, mint once", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const here = yield* Mints
        const there = yield* Effect.provide(Mints, yield* Programme.anotherNode)
        const reseller = yield* aReseller(50_000_000n)
        const { email } = yield* Stores.aUser
        const request = ask(small, email)
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

    it.scoped("of three hundred different ones at once, on two nodes, exactly thirty are let through", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const here = yield* Mints
        const there = yield* Effect.provide(Mints, yield* Programme.anotherNode)
        const reseller = yield* aReseller(5_000_000_000n)
        const customers = yield* Effect.all([Stores.aUser, Stores.aUser, Stores.aUser])
        const requests = Array.from({ length: 300 }, (_, i) => ask(small, customers[i % 3]?.email ?? Stores.anEmail()))
        const outcomes = yield* Effect.forEach(
          requests,
          (request, i) => Effect.either((i % 2 === 0 ? here : there).mint(reseller.id, request)),
          { concurrency: 40 }
        )
        expect(outcomes.filter(Either.isRight)).toHaveLength(30)
        for (const refused of outcomes.filter(Either.isLeft)) expect(refused.left).toBeInstanceOf(RateLimited)
        expect(yield* balance(reseller.id)).toBe(4_850_000_000n)

        // Replays are free, and others are not held up.
        const first = outcomes.findIndex(Either.isRight)
        expect((yield* mint(reseller.id, requests[first] as MintRequest)).alreadyApplied).toBe(true)
        const other = yield* aReseller(5_000_000n)
        yield* mint(other.id, ask(small, customers[0].email))
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("the last of the quota is minted once", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const reseller = yield* aReseller(14_000_000n)
        const { email } = yield* Stores.aUser
        const outcomes = yield* Effect.all(
          Array.from({ length: 20 }, () => Effect.either(mint(reseller.id, ask(small, email)))),
          { concurrency: "unbounded" }
        )
        expect(outcomes.filter(Either.isRight)).toHaveLength(2)
        expect(yield* balance(reseller.id)).toBe(4_000_000n)
      })
    )

    it.effect("several resellers that mint to one customer at once all add to one plan", () =>
      Effect.gen(function* () {
        const { small } = yield* sold
        const resellers = yield* Effect.all(Array.from({ length: 8 }, () => aReseller(5_000_000n)))
        const { email } = yield* Stores.aUser
        yield* Effect.forEach(resellers, ({ id }) => mint(id, ask(small, email)), { concurrency: "unbounded" })
        expect(yield* plans(email)).toMatchObject([{ purchased: 16_000_000n }])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )
  })
})
