/**
 * Stores mints and reads tiers in Postgres. A mint exchanges quota of a reseller for tokens of a customer, in one
 * transaction.
 *
 * The transaction first locks the reseller's quota account, so the mints of one reseller run one after the other on all
 * nodes. What a mint reads therefore includes the effects of all earlier mints: the quota, an earlier mint with this
 * operation id, and the times of the recent mints.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Mints, Tiers } from "@tollgate/application/mint/Mints"
import { ModelId } from "@tollgate/domain/catalog/Model"
import type { UserId } from "@tollgate/domain/customer/User"
import {
  decideMint,
  decideRate,
  decideRepeatedMint,
  type Mint,
  MintFingerprint,
  MintId,
  type MintRequest,
  type MintResult,
  mintLimit
} from "@tollgate/domain/mint/Mint"
import { type Tier, TierId } from "@tollgate/domain/mint/Tier"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdCents } from "@tollgate/domain/money/UsdCents"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { OperationId } from "@tollgate/domain/operations/Operation"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { nextUuidV7 } from "../client/SqlValues.ts"
import { databaseTime, sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import { book, lockPlan, lockQuotaOf, writePosted } from "../ledger/AccountRows.ts"
import { actorOf } from "../operations/AuditLog.ts"

interface MintRow {
  readonly id: string
  readonly reseller_id: ResellerId
  readonly operation_id: OperationId
  readonly fingerprint: string
  readonly customer_user_id: UserId
  readonly model_id: string
  readonly plan_tier_id: string
  readonly granted_tokens: bigint
  readonly price_usd_micro: bigint
  readonly balance_after: bigint
  readonly minted_at: Date
}

export const layer: Layer.Layer<Mints, never, SqlClient.SqlClient> = Layer.effect(
  Mints,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)

    const earlierMint = (resellerId: ResellerId, operationId: OperationId) =>
      Effect.map(
        sql<MintRow>`SELECT id, reseller_id, operation_id, fingerprint, customer_user_id, model_id, plan_tier_id,
            granted_tokens, price_usd_micro, balance_after, minted_at
          FROM mint WHERE reseller_id = ${resellerId} AND operation_id = ${operationId}`,
        ([row]) => row && toMint(row)
      )
    const recentMints = (resellerId: ResellerId, now: Date) =>
      Effect.map(
        sql<{ minted_at: Date }>`SELECT minted_at FROM mint
          WHERE reseller_id = ${resellerId} AND minted_at >= ${new Date(now.getTime() - mintLimit.windowMillis)}`,
        (rows) => rows.map(({ minted_at }) => minted_at)
      )
    const userOf = (email: Email) =>
      Effect.map(sql<{ id: UserId }>`SELECT id FROM app_user WHERE email = ${email}`, ([row]) => row?.id)
    const tierOf = (id: string) =>
      isTierId(id)
        ? Effect.map(sql<TierRow>`${sql.literal(TIERS)} WHERE t.id = ${id}`, ([row]) => row && toTier(row))
        : Effect.succeed(undefined)

    /** Reads the facts that the mint decision needs, while the quota account is locked. */
    const basisOf = (resellerId: ResellerId, { customerEmail, planTierId }: MintRequest, now: Date) =>
      Effect.gen(function* () {
        const recent = yield* recentMints(resellerId, now)
        // The rate limit refuses first, so that a burst of refused mints reads and locks as little as possible.
        yield* decideRate(recent, now)
        const customer = yield* userOf(customerEmail)
        const tier = yield* tierOf(planTierId)
        const plan = customer === undefined || tier === undefined ? undefined : yield* lockPlan(customer, tier.modelId)
        return { recent, customer, tier, plan }
      })

    const write = (mint: Mint) =>
      sql`INSERT INTO mint ${sql.insert({
        id: mint.id,
        reseller_id: mint.resellerId,
        operation_id: mint.operationId,
        fingerprint: mint.fingerprint,
        customer_user_id: mint.customerUserId,
        model_id: mint.modelId,
        plan_tier_id: mint.planTierId,
        granted_tokens: mint.grantedTokens,
        price_usd_micro: mint.priceUsdMicro,
        balance_after: mint.balanceAfter,
        minted_at: mint.mintedAt
      })}`

    return {
      mint: (resellerId, request) =>
        Effect.gen(function* () {
          const quota = yield* lockQuotaOf(resellerId)
          const earlier = yield* earlierMint(resellerId, request.operationId)
          if (earlier !== undefined) return yield* decideRepeatedMint(request, earlier)

          const now = yield* databaseTime
          const id = MintId(yield* nextUuidV7)
          const basis = { quota, ...(yield* basisOf(resellerId, request, now)) }
          const minted = yield* decideMint({ resellerId, request, id }, basis, now)

          yield* writePosted(minted.quota)
          yield* writePosted(minted.plan)
          yield* Effect.forEach(minted.bookings, (booking) => book(booking, actorOf(resellerId)), { discard: true })
          yield* write(minted.mint)
          const result: MintResult = { mint: minted.mint, alreadyApplied: false }
          return result
        }).pipe(transact, withSql)
    }
  })
)

const isTierId = Schema.is(TierId)

const toMint = (row: MintRow): Mint => ({
  id: MintId(row.id),
  resellerId: row.reseller_id,
  operationId: row.operation_id,
  fingerprint: MintFingerprint(row.fingerprint),
  customerUserId: row.customer_user_id,
  modelId: ModelId(row.model_id),
  planTierId: row.plan_tier_id,
  grantedTokens: Tokens(row.granted_tokens),
  priceUsdMicro: UsdMicro(row.price_usd_micro),
  balanceAfter: UsdMicro(row.balance_after),
  mintedAt: row.minted_at
})

/** Provides the tiers of all models, including tiers that are not for sale. */
export const tiersLayer: Layer.Layer<Tiers, never, SqlClient.SqlClient> = Layer.effect(
  Tiers,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    all: Effect.map(sql<TierRow>`${sql.literal(TIERS)}`, (rows) => rows.map(toTier)).pipe(sqlErrorsAreDefects)
  }))
)

interface TierRow {
  readonly id: TierId
  readonly model_id: string
  readonly model_name: string
  readonly model_callable: boolean
  readonly tier_usd_cents: bigint
  readonly granted_tokens: bigint
  readonly for_sale: boolean
}

/** Selects all tiers. The caller can append a WHERE clause on `t`. */
const TIERS = `
  SELECT t.id, t.model_id, m.public_name AS model_name, NOT m.hidden AND NOT m.retired AS model_callable,
    t.tier_usd_cents, t.granted_tokens, t.for_sale
  FROM tier t JOIN model m ON m.id = t.model_id`

const toTier = (row: TierRow): Tier => ({
  id: row.id,
  modelId: ModelId(row.model_id),
  modelName: row.model_name,
  modelCallable: row.model_callable,
  tierUsdCents: UsdCents(row.tier_usd_cents),
  grantedTokens: Tokens(row.granted_tokens),
  forSale: row.for_sale
})
