/**
 * Writes models and settlements for rankings tests to the database, with or without their rows in `usage_delta`.
 */
import { SqlClient } from "@effect/sql"
import { insertDeltas } from "@tollgate/adapters-postgres/ledger/SettlementRows"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { Effect } from "effect"
import type { RankedModel, RankedSettlement } from "../RankingsReference.ts"
import * as Stores from "../Stores.ts"

/** Writes models. They have a price and no route, so they cannot be called. */
export const storeModels = (models: ReadonlyArray<RankedModel>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const { publicName, displayName, author, kind, hidden, retired } of models) {
      yield* sql`
        WITH ids AS (SELECT gen_random_uuid() AS model_id, gen_random_uuid() AS price_id),
        stored AS (
          INSERT INTO model (id, public_name, display_name, author, kind, discovery_rank, hidden, capabilities, retired, price_id)
          SELECT model_id, ${publicName}, ${displayName}, ${author}, ${kind}, 0, ${hidden},
            CASE ${kind} WHEN 'image' THEN ARRAY['generate'] ELSE '{}' END, ${retired}, price_id FROM ids)
        INSERT INTO price (id, model_id, input, cache_write, cache_read, output)
        SELECT price_id, model_id, 1, 1, 1, 1 FROM ids`
    }
  })

/**
 * Returns a statement that writes settlements and their `usage_delta` rows, as the ledger does. `settlements` is the
 * INSERT statement for the settlements.
 */
export const counted = (settlements: string): string =>
  `WITH written AS (${settlements} RETURNING *), counted AS (${insertDeltas("written")}) SELECT`

const SETTLED = `
  INSERT INTO settlement (request_id, user_id, api_key_id, model_id, price_id, protocol, streamed, ending, usage_source,
    charged_input, charged_cache_write, charged_cache_read, charged_output,
    consumed_input, consumed_cache_write, consumed_cache_read, consumed_output,
    cost_pico, plan_tokens, plan_value_pico, payg_pico, writeoff_pico, ttft_millis, duration_millis, held_at, settled_at)
  SELECT gen_random_uuid(), $2, $3, model.id, model.price_id,
    CASE model.kind WHEN 'image' THEN 'images' ELSE 'chat' END, streamed, ending, 'upstream', 0, 0, 0, 0,
    input, cache_write, cache_read, output, 0, 0, 0, 0, 0, ttft_millis, duration_millis, settled_at, settled_at
  FROM jsonb_to_recordset($1::jsonb) AS given (model text, settled_at timestamptz, input bigint, cache_write bigint,
    cache_read bigint, output bigint, streamed boolean, ending text, ttft_millis int, duration_millis int)
  JOIN model ON model.public_name = given.model`

const rowsOf = (settlements: ReadonlyArray<RankedSettlement>) =>
  JSON.stringify(
    settlements.map(({ model, settledAt, consumed, streamed, ending, ttftMillis, durationMillis }) => ({
      model,
      settled_at: settledAt,
      input: consumed.input.toString(),
      cache_write: consumed.cacheWrite.toString(),
      cache_read: consumed.cacheRead.toString(),
      output: consumed.output.toString(),
      streamed,
      ending,
      ttft_millis: ttftMillis,
      duration_millis: durationMillis
    }))
  )

/** Writes settlements of a new user. The charge of each settlement is zero. */
export const storeSettlements = (
  settlements: ReadonlyArray<RankedSettlement>,
  counting: "counted" | "uncounted" = "counted"
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const user = yield* Stores.aUser
    const { key } = yield* (yield* ApiKeys).create(user.email, "key", Stores.operator)
    yield* sql.unsafe(counting === "counted" ? counted(SETTLED) : SETTLED, [rowsOf(settlements), user.id, key.id])
  })
