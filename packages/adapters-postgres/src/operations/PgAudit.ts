/**
 * The audit of the books in Postgres: every invariant checked against one snapshot, while the service goes on.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Audit, type AuditCheck } from "@tollgate/application/operations/Audit"
import { floorToUsd, UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { transact } from "../client/Transact.ts"
import { imageInvariants } from "./ImageInvariants.ts"
import { invariants } from "./LedgerInvariants.ts"
import { countDisagreements, RECOMPUTED } from "./RecomputedSettlements.ts"
import { rollUpInvariants } from "./RollUpInvariants.ts"

interface FiguresRow {
  readonly accounts: bigint
  readonly settlements: bigint
  readonly holds_open: bigint
  readonly topups_crediting: bigint
  readonly quota_micro: string
  readonly written_off_pico: string
  readonly operator_loss_pico: string
}

export const layer: Layer.Layer<Audit, never, SqlClient.SqlClient> = Layer.effect(
  Audit,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    return {
      audit: Effect.gen(function* () {
        yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
        // The books of a long life take longer than any request may.
        yield* sql`SET LOCAL statement_timeout = 0`
        const checks: Array<AuditCheck> = []
        for (const { id, invariant, violations } of [...invariants, ...imageInvariants, ...rollUpInvariants]) {
          const [row] = yield* sql.unsafe<{ count: bigint }>(violations)
          if (row === undefined) return yield* Effect.dieMessage(`the check ${id} gave no answer`)
          checks.push({ id, invariant, violations: row.count })
        }
        checks.push({ ...RECOMPUTED, violations: yield* countDisagreements })
        return { checks, figures: yield* figures }
      }).pipe(transact, withSql)
    }
  })
)

const figures = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<FiguresRow>`SELECT
    (SELECT count(*) FROM account WHERE kind <> 'system') AS accounts,
    (SELECT count(*) FROM inference_hold) AS holds_open,
    (SELECT count(*) FROM topup_order WHERE status = 'crediting') AS topups_crediting,
    (SELECT coalesce(sum(credits_posted - debits_posted), 0) FROM account WHERE kind = 'reseller_quota') AS quota_micro,
    count(*) AS settlements,
    coalesce(sum(writeoff_pico), 0) AS written_off_pico,
    coalesce(sum((consumed_input - charged_input) * p.input + (consumed_cache_write - charged_cache_write) * p.cache_write
      + (consumed_cache_read - charged_cache_read) * p.cache_read + (consumed_output - charged_output) * p.output), 0)
      AS operator_loss_pico
    FROM settlement s JOIN price p ON p.id = s.price_id`
  if (row === undefined) return []
  return [
    { name: "accounts", value: row.accounts.toString() },
    { name: "settlements", value: row.settlements.toString() },
    { name: "holds_open", value: row.holds_open.toString() },
    // Paid and not yet booked: more than a few for a moment is a sweep that does not run.
    { name: "topups_crediting", value: row.topups_crediting.toString() },
    { name: "quota_usd", value: usd(`${row.quota_micro}000000`) },
    { name: "written_off_usd", value: usd(row.written_off_pico) },
    // What suppliers used for answers that nobody was charged for, at our own prices.
    { name: "operator_loss_usd", value: usd(row.operator_loss_pico) }
  ]
})

/** A sum comes as digits: it may be larger than any amount in it. A broken book can make it negative. */
const usd = (pico: string): string => {
  const amount = BigInt(pico)
  return amount < 0n ? `-${floorToUsd(UsdPico(-amount))}` : floorToUsd(UsdPico(amount))
}
