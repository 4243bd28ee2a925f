/**
 * Audits the ledger in Postgres: checks every invariant against one snapshot. Servers can run during an audit.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Audit, type AuditCheck } from "@tollgate/application/operations/Audit"
import { type SettledRequest, writeOffReason, writeOffReasons } from "@tollgate/domain/inference/WriteOff"
import * as Price from "@tollgate/domain/ledger/Price"
import type { TokenUsage } from "@tollgate/domain/ledger/TokenUsage"
import type { Tokens } from "@tollgate/domain/money/Tokens"
import { floorToUsd, UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { withoutTimeLimits } from "../client/ResponseTimeout.ts"
import { transact } from "../client/Transact.ts"
import { accountInvariants } from "./AccountInvariants.ts"
import { requestInvariants } from "./RequestInvariants.ts"

interface FiguresRow {
  readonly accounts: bigint
  readonly settlements: bigint
  readonly holds_open: bigint
  readonly topups_crediting: bigint
  readonly quota_micro: string
  readonly operator_loss_pico: string
}

/** The sum of the write-offs of all settlements with these four properties. */
interface WriteOffRow extends SettledRequest {
  readonly pico: string
}

export const layer: Layer.Layer<Audit, never, SqlClient.SqlClient> = Layer.effect(
  Audit,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    return {
      audit: Effect.gen(function* () {
        yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
        // A query over a large ledger can take longer than the statement timeout.
        yield* withoutTimeLimits
        const checks: Array<AuditCheck> = []
        for (const { id, invariant, violations } of [...accountInvariants, ...requestInvariants]) {
          const [row] = yield* sql.unsafe<{ count: bigint }>(violations)
          if (row === undefined) return yield* Effect.dieMessage(`the query of the audit check ${id} returned no row`)
          checks.push({ id, invariant, violations: row.count })
        }
        checks.push({ ...RECOMPUTED, violations: yield* countDisagreements })
        return { checks, figures: yield* readFigures }
      }).pipe(transact, withSql)
    }
  })
)

const readFigures = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<FiguresRow>`SELECT
    (SELECT count(*) FROM account WHERE kind <> 'system') AS accounts,
    (SELECT count(*) FROM open_request) AS holds_open,
    (SELECT count(*) FROM topup_order WHERE status = 'crediting') AS topups_crediting,
    (SELECT coalesce(sum(credits_posted - debits_posted), 0) FROM account WHERE kind = 'reseller_quota') AS quota_micro,
    count(*) AS settlements,
    coalesce(sum((consumed_input - charged_input) * p.input + (consumed_cache_write - charged_cache_write) * p.cache_write
      + (consumed_cache_read - charged_cache_read) * p.cache_read + (consumed_output - charged_output) * p.output), 0)
      AS operator_loss_pico
    FROM settlement s JOIN price p ON p.id = s.price_id`
  if (row === undefined) return []
  const writeOffs = yield* sql<WriteOffRow>`
    SELECT protocol, streamed, ending, usage_source AS source, sum(writeoff_pico) AS pico
    FROM settlement WHERE writeoff_pico > 0 GROUP BY 1, 2, 3, 4`
  const writtenOff = (rows: ReadonlyArray<WriteOffRow>) => usd(rows.reduce((sum, { pico }) => sum + BigInt(pico), 0n))
  return [
    { name: "accounts", value: row.accounts.toString() },
    { name: "settlements", value: row.settlements.toString() },
    { name: "holds_open", value: row.holds_open.toString() },
    // Orders that are paid and not credited yet. If the number stays above zero, some of them may not be refreshed.
    { name: "topups_crediting", value: row.topups_crediting.toString() },
    { name: "quota_usd", value: usd(BigInt(row.quota_micro) * 1_000_000n) },
    { name: "written_off_usd", value: writtenOff(writeOffs) },
    ...writeOffReasons.map((reason) => ({
      name: `written_off_${reason}_usd`,
      value: writtenOff(writeOffs.filter((row) => writeOffReason(row) === reason))
    })),
    // The cost of the tokens that providers used and that were not charged to a customer.
    { name: "operator_loss_usd", value: usd(BigInt(row.operator_loss_pico)) }
  ]
})

/**
 * Formats a sum in pico-USD as USD. An inconsistent ledger can make the sum negative. A sum can exceed the range of one
 * amount, so the database returns it as text.
 */
const usd = (pico: bigint): string => (pico < 0n ? `-${floorToUsd(UsdPico(-pico))}` : floorToUsd(UsdPico(pico)))

const RECOMPUTED = {
  id: "domain-agrees",
  invariant: "For every settlement, the domain rules compute the stored cost and the stored plan value."
} as const

interface SettlementRow {
  readonly request_id: string
  readonly charged_input: Tokens
  readonly charged_cache_write: Tokens
  readonly charged_cache_read: Tokens
  readonly charged_output: Tokens
  readonly cost_pico: bigint
  readonly plan_tokens: Tokens
  readonly plan_value_pico: bigint
  readonly price_id: string
}

interface PriceRow {
  readonly id: string
  readonly input: Price.PicoPerToken
  readonly cache_write: Price.PicoPerToken
  readonly cache_read: Price.PicoPerToken
  readonly output: Price.PicoPerToken
}

const BATCH_SIZE = 5_000
const LOWEST_UUID = "00000000-0000-0000-0000-000000000000"

/**
 * Counts the settlements for which the domain computes a different cost or plan value. Another invariant computes the
 * cost in SQL, so two implementations must produce the same result. Settlements are read in batches to bound the
 * memory.
 */
const countDisagreements: Effect.Effect<bigint, SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = new Map<string, Price.Price>()
  for (const row of yield* sql<PriceRow>`SELECT id, input, cache_write, cache_read, output FROM price`) {
    prices.set(row.id, { input: row.input, cacheWrite: row.cache_write, cacheRead: row.cache_read, output: row.output })
  }
  let disagreements = 0n
  let last = LOWEST_UUID
  for (;;) {
    const rows = yield* sql<SettlementRow>`
      SELECT request_id, charged_input, charged_cache_write, charged_cache_read, charged_output, cost_pico,
        plan_tokens, plan_value_pico, price_id
      FROM settlement WHERE request_id > ${last} ORDER BY request_id LIMIT ${BATCH_SIZE}`
    for (const row of rows) if (!agrees(row, prices.get(row.price_id))) disagreements += 1n
    const end = rows.at(-1)
    if (end === undefined || rows.length < BATCH_SIZE) return disagreements
    last = end.request_id
  }
})

const agrees = (row: SettlementRow, price: Price.Price | undefined): boolean => {
  if (price === undefined) return false
  const charged: TokenUsage = {
    input: row.charged_input,
    cacheWrite: row.charged_cache_write,
    cacheRead: row.charged_cache_read,
    output: row.charged_output
  }
  return (
    Price.cost(price, charged) === row.cost_pico &&
    Price.prefixCost(price, charged, row.plan_tokens) === row.plan_value_pico
  )
}
