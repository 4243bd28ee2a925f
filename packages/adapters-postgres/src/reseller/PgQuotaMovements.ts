/**
 * Lists the movements of a reseller's quota from the journal.
 *
 * A transfer of a quota account is written while the account is locked, so a new transfer never gets an earlier time
 * than a committed transfer of the same account, unless the clock of the database is set back.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { QuotaMovements } from "@tollgate/application/reseller/QuotaMovements"
import type { QuotaMovement } from "@tollgate/domain/reseller/QuotaMovement"
import { type OrderId, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { listSql, type PositionRow, toPosition } from "../client/Positions.ts"
import { sqlErrorsAreDefects } from "../client/Transact.ts"

interface MovementRow extends PositionRow {
  readonly code: "topup" | "mint_pay" | "quota_adjust"
  readonly ref: string
  readonly change: bigint
  readonly created_at: Date
  readonly operation_id: string | null
}

export const layer: Layer.Layer<QuotaMovements, never, SqlClient.SqlClient> = Layer.effect(
  QuotaMovements,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { position, below, newestFirst } = yield* listSql("t.created_at", "t.id")
    return {
      list: (resellerId, { limit, after, range }) => {
        // Each side of the transfers has its own index.
        const side = (account: "debit_account" | "credit_account", change: "-t.amount" | "t.amount") => sql`(
          SELECT t.id, t.created_at, t.code, t.ref, ${sql.literal(change)} AS change
          FROM transfer t WHERE t.${sql.literal(account)} = (
              SELECT id FROM account WHERE kind = 'reseller_quota' AND reseller_id = ${resellerId})
            AND ${below(after, range)} ${newestFirst} LIMIT ${limit})`
        return Effect.map(
          sql<MovementRow>`
            SELECT ${position}, t.code, t.ref, t.change, t.created_at, m.operation_id
            FROM (
              SELECT t.* FROM (${side("debit_account", "-t.amount")} UNION ALL ${side("credit_account", "t.amount")}) AS t
              ${newestFirst} LIMIT ${limit}) AS t
              LEFT JOIN mint m ON t.code = 'mint_pay' AND m.id = CASE t.code WHEN 'mint_pay' THEN t.ref::uuid END
            ${newestFirst}`,
          (rows) => rows.map(toMovement)
        ).pipe(sqlErrorsAreDefects)
      }
    }
  })
)

const KINDS = { topup: "topup", mint_pay: "mint", quota_adjust: "adjustment" } as const

const toMovement = (row: MovementRow): QuotaMovement => ({
  position: toPosition(row),
  at: row.created_at,
  kind: KINDS[row.code],
  changeUsdMicro: row.change,
  reference: row.code === "topup" ? orderNumberOf(row.ref as OrderId) : (row.operation_id ?? undefined)
})
