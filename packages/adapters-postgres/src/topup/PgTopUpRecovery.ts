/**
 * Reads the states of top-up orders, and uses up deposit indexes, after a restore of the database.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { type DepositIndexRange, type StoredState, TopUpRecovery } from "@tollgate/application/topup/TopUpRecovery"
import type { OrderId } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { arrayOf } from "../client/SqlValues.ts"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import * as AuditLog from "../operations/AuditLog.ts"

interface StateRow {
  readonly id: OrderId
  readonly state: StoredState
}

export const layer: Layer.Layer<TopUpRecovery, never, SqlClient.SqlClient> = Layer.effect(
  TopUpRecovery,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return {
      states: (ids) =>
        Effect.map(
          sql<StateRow>`SELECT id, CASE provision_state
              WHEN 'ready' THEN status WHEN 'creating' THEN 'draft' ELSE 'abandoned' END AS state
            FROM topup_order WHERE id = ANY (${arrayOf(ids)}::uuid[])`,
          (rows) => new Map(rows.map(({ id, state }) => [id, state]))
        ).pipe(sqlErrorsAreDefects),

      orderedIndexes: ({ first, last }) =>
        Effect.map(
          sql<{ deposit_index: number }>`SELECT deposit_index FROM topup_order
            WHERE deposit_index BETWEEN ${first} AND ${last} AND provision_state = 'ready'`,
          (rows) => new Set(rows.map(({ deposit_index }) => deposit_index))
        ).pipe(sqlErrorsAreDefects),

      skipDepositIndexes: (count, operator) =>
        Effect.gen(function* () {
          // The range begins at the first index of a draft, because the payment of a draft can have been opened after
          // the restored time. Without a draft it begins after the highest stored index, and not at the next value of
          // the sequence: after a restore, the sequence can be up to 32 ahead of the last index that it gave out, so
          // lost orders can have indexes below its next value.
          const [range] = yield* sql<DepositIndexRange>`
            SELECT (SELECT coalesce(min(deposit_index) FILTER (WHERE provision_state = 'creating'),
                max(deposit_index) + 1, 1) FROM topup_order) AS first, max(index)::int AS last
            FROM (SELECT nextval('topup_deposit_index') AS index FROM generate_series(1, ${count})) AS skipped`
          if (range === undefined) return yield* Effect.dieMessage("the database returned no deposit index")
          const detail = { first: range.first, last: range.last }
          yield* AuditLog.record({ operator, action: "topup.skip", subject: "topup_deposit_index", detail })
          return range
        }).pipe(transact, Effect.provideService(SqlClient.SqlClient, sql))
    }
  })
)
