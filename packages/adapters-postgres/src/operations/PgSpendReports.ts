/**
 * Sums the settlements of a range of time. The index of the settlement times (BRIN) finds the blocks of the range, so
 * the statement does not read the whole history.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { SpendReports } from "@tollgate/application/operations/RequestRecords"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { SpendDimension, SpendSums } from "@tollgate/domain/operations/SpendReport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { withoutTimeLimits } from "../client/ResponseTimeout.ts"
import { transact } from "../client/Transact.ts"

/** The column by which `sums` groups a dimension, and the SQL of the name that the report shows. */
const DIMENSIONS: { readonly [Dimension in SpendDimension]: { readonly key: string; readonly name: string } } = {
  day: { key: "to_char(s.settled_at AT TIME ZONE 'Asia/Jakarta', 'YYYY-MM-DD') AS day", name: "sums.day" },
  model: { key: "s.model_id", name: "(SELECT public_name FROM model WHERE id = sums.model_id)" },
  reseller: {
    key: "s.user_id",
    name: `coalesce((SELECT r.email FROM reseller_customer c JOIN reseller r ON r.id = c.reseller_id
      WHERE c.user_id = sums.user_id ORDER BY c.linked_at, r.id LIMIT 1), '')`
  }
}

const SUMS = {
  requests: "count(*)",
  charged_input: "sum(s.charged_input)",
  charged_cache_write: "sum(s.charged_cache_write)",
  charged_cache_read: "sum(s.charged_cache_read)",
  charged_output: "sum(s.charged_output)",
  plan_value: "sum(s.plan_value_pico)",
  payg: "sum(s.payg_pico)",
  writeoff: "sum(s.writeoff_pico)",
  operator_loss: `sum((s.consumed_input - s.charged_input) * p.input
    + (s.consumed_cache_write - s.charged_cache_write) * p.cache_write
    + (s.consumed_cache_read - s.charged_cache_read) * p.cache_read
    + (s.consumed_output - s.charged_output) * p.output)`
}
type Sum = keyof typeof SUMS

type SpendRow = { readonly [Name in Sum | SpendDimension]: string }

const statementOf = (by: ReadonlyArray<SpendDimension>): string => {
  const keys = by.map((dimension) => DIMENSIONS[dimension].key)
  const names = by.map((dimension) => `${DIMENSIONS[dimension].name} COLLATE "C" AS ${dimension}`)
  const places = by.map((_, i) => i + 1).join(", ")
  const columns = Object.keys(SUMS).map((name) => `sum(sums.${name})::text AS ${name}`)
  return `
    WITH sums AS MATERIALIZED (
      SELECT ${[...keys, ...Object.entries(SUMS).map(([name, sum]) => `${sum} AS ${name}`)].join(", ")}
      FROM settlement s JOIN price p ON p.id = s.price_id
      WHERE s.settled_at >= $1 AND s.settled_at < $2
      GROUP BY ${places})
    SELECT ${[...names, ...columns].join(", ")} FROM sums GROUP BY ${places} ORDER BY ${places}`
}

export const layer: Layer.Layer<SpendReports, never, SqlClient.SqlClient> = Layer.effect(
  SpendReports,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return {
      read: (by, { before, from }) =>
        Effect.gen(function* () {
          yield* sql`SET TRANSACTION READ ONLY`
          // The report of a long range can take longer than the statement timeout.
          yield* withoutTimeLimits
          const rows = yield* sql.unsafe<SpendRow>(statementOf(by), [from, before])
          return rows.map((row) => toSums(row, by))
        }).pipe(transact, Effect.provideService(SqlClient.SqlClient, sql))
    }
  })
)

const toSums = (row: SpendRow, by: ReadonlyArray<SpendDimension>): SpendSums => {
  const tokens = (name: Sum) => Tokens(BigInt(row[name]))
  const pico = (name: Sum) => UsdPico(BigInt(row[name]))
  return {
    of: Object.fromEntries(by.map((dimension) => [dimension, row[dimension]])),
    requests: BigInt(row.requests),
    charged: {
      input: tokens("charged_input"),
      cacheWrite: tokens("charged_cache_write"),
      cacheRead: tokens("charged_cache_read"),
      output: tokens("charged_output")
    },
    planValuePico: pico("plan_value"),
    paygPico: pico("payg"),
    writeoffPico: pico("writeoff"),
    operatorLossPico: pico("operator_loss")
  }
}
