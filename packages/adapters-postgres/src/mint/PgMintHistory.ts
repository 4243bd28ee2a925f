/**
 * Lists mints from Postgres.
 *
 * The mints of one reseller are written one after the other, because each mint locks the reseller's quota account. A
 * new mint therefore never gets an earlier time than a committed mint of the same reseller, unless the clock of the
 * database is set back.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { MintHistory } from "@tollgate/application/mint/MintHistory"
import { ModelId } from "@tollgate/domain/catalog/Model"
import type { UserId } from "@tollgate/domain/customer/User"
import type { ListedMint } from "@tollgate/domain/mint/Mint"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { OperationId } from "@tollgate/domain/operations/Operation"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { listSql, type PositionRow, toPosition } from "../client/Positions.ts"
import { sqlErrorsAreDefects } from "../client/Transact.ts"

interface ListedMintRow extends PositionRow {
  readonly operation_id: OperationId
  readonly plan_tier_id: string
  readonly model_id: string
  readonly model_name: string
  readonly customer_user_id: UserId
  readonly customer_email: Email
  readonly granted_tokens: bigint
  readonly price_usd_micro: bigint
  readonly balance_after: bigint
  readonly minted_at: Date
}

export const layer: Layer.Layer<MintHistory, never, SqlClient.SqlClient> = Layer.effect(
  MintHistory,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { position, below, newestFirst } = yield* listSql("t.minted_at", "t.id")
    return {
      list: (resellerId, { limit, after, range }) =>
        Effect.map(
          sql<ListedMintRow>`
            SELECT ${position}, t.operation_id, t.plan_tier_id, t.model_id, m.public_name AS model_name,
              t.customer_user_id, u.email AS customer_email, t.granted_tokens, t.price_usd_micro, t.balance_after,
              t.minted_at
            FROM (
              SELECT t.* FROM mint t WHERE t.reseller_id = ${resellerId} AND ${below(after, range)}
              ${newestFirst} LIMIT ${limit}) AS t
              JOIN model m ON m.id = t.model_id JOIN app_user u ON u.id = t.customer_user_id
            ${newestFirst}`,
          (rows) => rows.map(toListed)
        ).pipe(sqlErrorsAreDefects)
    }
  })
)

const toListed = (row: ListedMintRow): ListedMint => ({
  position: toPosition(row),
  operationId: row.operation_id,
  planTierId: row.plan_tier_id,
  modelId: ModelId(row.model_id),
  modelName: row.model_name,
  customerUserId: row.customer_user_id,
  customerEmail: row.customer_email,
  grantedTokens: Tokens(row.granted_tokens),
  priceUsdMicro: UsdMicro(row.price_usd_micro),
  balanceAfter: UsdMicro(row.balance_after),
  mintedAt: row.minted_at
})
