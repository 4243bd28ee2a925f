/**
 * Provides the reseller features over a test database, and functions that create resellers, customers, orders and
 * tiers.
 */
import { SqlClient } from "@effect/sql"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { Customers } from "@tollgate/application/customer/Customers"
import { PasswordHash } from "@tollgate/application/reseller/PasswordHasher"
import { Quota } from "@tollgate/application/reseller/Quota"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import type { OpenedPayment } from "@tollgate/application/topup/PaymentProviders"
import { type NewTopUp, TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { resellerStores as stores } from "@tollgate/composition/GatewayStores"
import { tokenRawOf } from "@tollgate/domain/money/TokenRaw"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { QuotaChange } from "@tollgate/domain/reseller/QuotaAdjustment"
import type { Reseller, ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import type { OrderId, TopUpDraft, TopUpOrder } from "@tollgate/domain/topup/TopUpOrder"
import type { Email } from "@tollgate/domain/validation/Email"
import { Effect, Layer, Option, Redacted } from "effect"
import * as Stores from "./Stores.ts"
import { clientLayer, TestDatabase } from "./TestDatabase.ts"

export const layer = Layer.provideMerge(stores, Stores.layer)

/** The reseller features with separate connections to the same database, as on another node. */
export const anotherNode = Effect.flatMap(TestDatabase, (database) => aNodeOf(database))

export const aNodeOf = (database: TestDatabase["Type"]) =>
  Layer.build(Layer.provideMerge(stores, Layer.provideMerge(Stores.stores, clientLayer(database))))

export const passwordHash = PasswordHash(Redacted.make("$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g"))

let count = 0
const next = () => ++count

export const anOperation = (): OperationId => OperationId.make(`operation ${next()}`)

export const anApplicant = (email: Email = Stores.anEmail()): Effect.Effect<Reseller, never, Resellers> =>
  Effect.orDie(
    Effect.flatMap(Resellers, ({ create }) =>
      create({ email, name: "Toko Token", waNumber: "628123456789", passwordHash })
    )
  )

/** Creates an active reseller. An operator adds the quota. */
export const aReseller = (quotaUsdMicro = 0n) =>
  Effect.gen(function* () {
    const { id } = yield* anApplicant()
    const reseller = yield* (yield* Resellers).review(id, "approve", Stores.operator)
    if (quotaUsdMicro > 0n) yield* adjust(id, quotaUsdMicro)
    return reseller
  }).pipe(Effect.orDie)

export const adjust = (resellerId: ResellerId, change: bigint, operationId = anOperation()) =>
  Effect.flatMap(Quota, (quota) =>
    quota.adjust({ resellerId, change: QuotaChange(change), operationId }, Stores.operator)
  )

export const aCustomer = (resellerId: ResellerId, email: Email = Stores.anEmail()) =>
  Effect.flatMap(Customers, ({ resolve }) => resolve(resellerId, email, "closed"))

/**
 * Applies a catalog with one model and these tiers (price in US cents, number of tokens). Returns the tiers for sale.
 */
export const tiersOf = (publicName: string, ...sizes: ReadonlyArray<readonly [cents: number, tokens: number]>) =>
  Effect.gen(function* () {
    const catalogs = yield* Catalogs
    const tiers = sizes.map(([tier_usd_cents, granted_tokens]) => ({ tier_usd_cents, granted_tokens }))
    yield* catalogs.apply(Stores.catalogOf({ public_name: publicName, tiers }), Stores.operator)
    return (yield* catalogs.load).tiers.filter((tier) => tier.publicName === publicName && tier.forSale)
  })

/** Describes a new order. By default it is a `crypto_bep20` order of 10 USD. */
export const aNewTopUp = (resellerId: ResellerId, facts: Partial<NewTopUp> = {}): NewTopUp => ({
  resellerId,
  operationId: undefined,
  method: "crypto_bep20",
  amount: { _tag: "Dollars", tokenKind: "usdt" },
  quotaUsdMicro: UsdMicro(10_000_000n),
  provider: "bsc",
  simulated: false,
  needsDepositIndex: true,
  ...facts
})

/** Returns the opened payment of a `crypto_bep20` draft. The payment expires after an hour. */
export const anOpening = (
  { id, quotaUsdMicro, createdAt }: TopUpDraft,
  facts: Partial<OpenedPayment> = {}
): OpenedPayment => ({
  providerPaymentId: `bsc:${id}`,
  instructions: {
    _tag: "Bep20",
    network: "bsc",
    chainId: 56,
    tokenKind: "usdt",
    contractAddress: "0x55d398326f99059fF775485246999027B3197955",
    expectedRaw: tokenRawOf(quotaUsdMicro),
    depositAddress: `0x${id}`
  },
  expiresAt: new Date(createdAt.getTime() + 3_600_000),
  state: { baselineRaw: "0" },
  ...facts
})

export const anOrder = (
  resellerId: ResellerId,
  facts: Partial<NewTopUp> = {},
  opening: Partial<OpenedPayment> = {}
): Effect.Effect<TopUpOrder, never, TopUpOrders> =>
  Effect.gen(function* () {
    const orders = yield* TopUpOrders
    const draft = yield* Effect.orDie(orders.draft(aNewTopUp(resellerId, facts)))
    return Option.getOrThrow(yield* orders.makeReady(draft.id, anOpening(draft, opening))).order
  })

export const paid: PaymentObservation = { _tag: "Paid", received: undefined, paidAt: undefined }

export const recordObservation = (id: OrderId, seen: PaymentObservation) =>
  Effect.flatMap(TopUpOrders, (orders) => orders.recordObservation(id, seen))
export const credit = (id: OrderId) => Effect.flatMap(TopUpOrders, (orders) => orders.credit(id))
export const balance = (resellerId: ResellerId) => Effect.flatMap(Quota, (quota) => quota.balance(resellerId))

export const isNow = (time: Date | undefined): boolean => Math.abs(Date.now() - (time?.getTime() ?? 0)) < 60_000

export const audited = (subject: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`SELECT actor, action, reason, detail FROM audit_log WHERE subject = ${subject} ORDER BY seq`
  ).pipe(Effect.orDie)

/** Mints any number of tokens for one cent, without a tier for sale and without the rate limit. */
export const grant = (userId: string, modelId: string, tokens: bigint) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe(INSERT_TEST_RESELLER)
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`UPDATE account SET debits_posted = debits_posted + ${CENT} WHERE id = ${TEST_RESELLER_QUOTA}`
        yield* sql`INSERT INTO account (id, kind, unit, user_id, model_id)
          VALUES (gen_random_uuid(), 'plan', 'token', ${userId}, ${modelId}) ON CONFLICT DO NOTHING`
        yield* sql`INSERT INTO tier (id, model_id, tier_usd_cents, granted_tokens, for_sale)
          VALUES (gen_random_uuid(), ${modelId}, 1, 1, false) ON CONFLICT DO NOTHING`
        yield* sql`
          WITH minted AS (SELECT gen_random_uuid() AS id),
          plan AS (
            UPDATE account SET credits_posted = credits_posted + ${tokens}
            WHERE kind = 'plan' AND user_id = ${userId} AND model_id = ${modelId} RETURNING id),
          booked AS (
            INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor)
            SELECT gen_random_uuid(), 'mint_pay', minted.id::text, 'usd_micro', ${TEST_RESELLER_QUOTA}::uuid,
              '00000000-0000-0000-0000-000000000002'::uuid, ${CENT}::bigint, 'test' FROM minted
            UNION ALL
            SELECT gen_random_uuid(), 'mint_grant', minted.id::text, 'token', '00000000-0000-0000-0000-000000000003',
              plan.id, ${tokens}::bigint, 'test' FROM minted, plan)
          INSERT INTO mint (id, reseller_id, operation_id, fingerprint, customer_user_id, model_id, plan_tier_id,
            granted_tokens, price_usd_micro, balance_after, minted_at)
          SELECT minted.id, ${TEST_RESELLER}::uuid, minted.id::text, 'any', ${userId}::uuid, t.model_id, t.id, ${tokens}::bigint,
            ${CENT}::bigint, 1, clock_timestamp() FROM minted, tier t WHERE t.model_id = ${modelId} AND t.tier_usd_cents = 1`
      })
    )
  }).pipe(Effect.orDie)

const CENT = 10_000n
const TEST_RESELLER = "00000000-0000-7000-8000-00000000000a"
const TEST_RESELLER_QUOTA = "00000000-0000-7000-8000-00000000000b"
const INSERT_TEST_RESELLER = `
  WITH test_reseller AS (
    INSERT INTO reseller (id, email, name, wa_number, password_hash, status)
    VALUES ('${TEST_RESELLER}', 'test-reseller@example.com', 'Test reseller', '628123456789', '$argon2id$x', 'active')
    ON CONFLICT DO NOTHING RETURNING id),
  quota AS (
    INSERT INTO account (id, kind, unit, reseller_id, credits_posted)
    SELECT '${TEST_RESELLER_QUOTA}', 'reseller_quota', 'usd_micro', id, 1000000000 FROM test_reseller RETURNING id),
  given AS (
    INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor)
    SELECT gen_random_uuid(), 'quota_adjust', 'test', 'usd_micro', '00000000-0000-0000-0000-000000000001', id,
      1000000000, 'test' FROM quota)
  INSERT INTO audit_log (actor, action, subject, reason, detail)
  SELECT 'test', 'quota.adjust', id, 'for tests', '{"usd_micro": "1000000000", "operation_id": "test"}' FROM test_reseller`
