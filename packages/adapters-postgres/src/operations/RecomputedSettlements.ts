/**
 * Every settlement decided again by the domain's own arithmetic, in batches, so that memory stays bounded.
 *
 * The queries beside it say the same in SQL: two writings of one rule that must agree.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Price from "@tollgate/domain/ledger/Price"
import type { TokenUsage } from "@tollgate/domain/ledger/TokenUsage"
import type { Tokens } from "@tollgate/domain/money/Tokens"
import * as Effect from "effect/Effect"

export const RECOMPUTED = {
  id: "domain-agrees",
  invariant: "The domain computes the same cost and the same plan value for every settlement."
} as const

interface Row {
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

const BATCH = 5_000
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000"

/** How many settlements the domain disagrees with. */
export const countDisagreements: Effect.Effect<bigint, SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const prices = new Map<string, Price.Price>()
  for (const row of yield* sql<PriceRow>`SELECT id, input, cache_write, cache_read, output FROM price`) {
    prices.set(row.id, { input: row.input, cacheWrite: row.cache_write, cacheRead: row.cache_read, output: row.output })
  }
  let disagreements = 0n
  let last = BEFORE_ALL
  for (;;) {
    const rows = yield* sql<Row>`
      SELECT request_id, charged_input, charged_cache_write, charged_cache_read, charged_output, cost_pico,
        plan_tokens, plan_value_pico, price_id
      FROM settlement WHERE request_id > ${last} ORDER BY request_id LIMIT ${BATCH}`
    for (const row of rows) if (!agrees(row, prices.get(row.price_id))) disagreements += 1n
    const end = rows.at(-1)
    if (end === undefined || rows.length < BATCH) return disagreements
    last = end.request_id
  }
})

const agrees = (row: Row, price: Price.Price | undefined): boolean => {
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
