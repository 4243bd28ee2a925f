/**
 * Reads and writes the limits of API keys. The budgets, the rate limits and the limit of concurrent requests are in
 * `counted_key`, with the counts. The expiry and the allowed models are in `api_key`.
 *
 * A write locks the row in `api_key` before the row in `counted_key`. Of these two tables, the ledger waits only for
 * rows in `counted_key`, so a change of limits and the ledger cannot deadlock.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { KeyStatus } from "@tollgate/application/customer/KeyLimits"
import type { ApiKey, ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { isCounted, type KeyLimits, noLimits, UnknownModels } from "@tollgate/domain/customer/KeyLimits"
import type { UserId } from "@tollgate/domain/customer/User"
import { countsAt, type KeyCounts, type RateWindow, windowAt } from "@tollgate/domain/ledger/KeyCounts"
import { Tokens, toCount } from "@tollgate/domain/money/Tokens"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"

export interface KeyRow {
  readonly id: string
  readonly public_id: string
  readonly user_id: string
  readonly name: string
  readonly created_at: Date
  readonly revoked_at: Date | null
  readonly expires_at: Date | null
  readonly models: ReadonlyArray<string> | null
  readonly spend_per_day_usd_micro: bigint | null
  readonly spend_per_month_usd_micro: bigint | null
  readonly spend_total_usd_micro: bigint | null
  readonly requests_per_minute: number | null
  readonly tokens_per_minute: bigint | null
  readonly concurrent_requests: number | null
}

interface StatusRow extends KeyRow {
  readonly counted: boolean
  readonly day: string
  readonly spent_in_day_pico: UsdPico
  readonly spent_in_month_pico: UsdPico
  readonly spent_total_pico: UsdPico
  readonly pending_pico: UsdPico
  readonly open_requests: number
  readonly window_number: bigint
  readonly window_began_at: Date
  readonly window_requests: number
  readonly window_tokens: bigint
  readonly read_at: Date
}

export const LIMIT_COLUMNS = `spend_per_day_usd_micro, spend_per_month_usd_micro, spend_total_usd_micro, requests_per_minute,
  tokens_per_minute, concurrent_requests`

export const KEY_COLUMNS = `api_key.id, public_id, api_key.user_id, name, api_key.created_at, revoked_at, expires_at, models,
  ${LIMIT_COLUMNS}`

export const KEY_TABLES = "api_key LEFT JOIN counted_key ON counted_key.key_id = api_key.id"

const STATUS_COLUMNS = `${KEY_COLUMNS}, counted, day::text, spent_in_day_pico, spent_in_month_pico, spent_total_pico,
  pending_pico, open_requests, window_number, window_began_at, window_requests, window_tokens,
  statement_timestamp() AS read_at`

const micro = (amount: bigint | null): UsdMicro | undefined => (amount === null ? undefined : UsdMicro(amount))

export const toLimits = (row: Omit<KeyRow, "id" | "public_id" | "user_id" | "name">): KeyLimits => ({
  spendPerDay: micro(row.spend_per_day_usd_micro),
  spendPerMonth: micro(row.spend_per_month_usd_micro),
  spendTotal: micro(row.spend_total_usd_micro),
  requestsPerMinute: row.requests_per_minute ?? undefined,
  tokensPerMinute: row.tokens_per_minute === null ? undefined : toCount(Tokens(row.tokens_per_minute)),
  concurrentRequests: row.concurrent_requests ?? undefined,
  expiresAt: row.expires_at ?? undefined,
  models: row.models ?? undefined
})

export const toKey = (row: KeyRow): ApiKey => ({
  id: row.id as ApiKeyId,
  publicId: row.public_id,
  userId: row.user_id as UserId,
  name: row.name,
  createdAt: row.created_at,
  revokedAt: row.revoked_at ?? undefined,
  limits: toLimits(row)
})

/** Returns the counts at the time at which the row was read. */
const toCounts = (row: StatusRow): KeyCounts => {
  const nowMillis = row.read_at.getTime()
  const window: RateWindow = {
    number: row.window_number,
    beganAtMillis: row.window_began_at.getTime(),
    requests: row.window_requests,
    tokens: row.window_tokens
  }
  const stored: KeyCounts = {
    day: row.day,
    spentInDay: row.spent_in_day_pico,
    spentInMonth: row.spent_in_month_pico,
    spentTotal: row.spent_total_pico,
    pending: row.pending_pico,
    openRequests: row.open_requests,
    window: windowAt(window, nowMillis)
  }
  return countsAt(stored, nowMillis)
}

type InTransaction<A, E = never> = Effect.Effect<A, SqlError | E, SqlClient.SqlClient>

/** Returns a key with its current counts; undefined if there is no such key. */
export const findKey = (keyId: ApiKeyId): InTransaction<KeyStatus | undefined> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<StatusRow>`
      SELECT ${sql.literal(STATUS_COLUMNS)} FROM ${sql.literal(KEY_TABLES)} WHERE api_key.id = ${keyId}`
    return row && { key: toKey(row), counts: row.counted ? toCounts(row) : undefined }
  })

export const readKey = (keyId: ApiKeyId): InTransaction<KeyStatus> =>
  Effect.flatMap(findKey(keyId), (found) =>
    found === undefined ? Effect.dieMessage("an API key that was just written is missing") : Effect.succeed(found)
  )

/** Locks the key against other changes of its limits. */
export const lockKey = (keyId: ApiKeyId): InTransaction<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`SELECT FROM api_key WHERE id = ${keyId} FOR NO KEY UPDATE`
  })

/**
 * Writes the limits of a locked or new key. A key that becomes a limited key begins without spend and with a new rate
 * window. A limited key keeps its counts. The catalog can hide a model after a key was limited to it, so the models in
 * the limits `before` are accepted without a check.
 */
export const writeLimits = (
  keyId: ApiKeyId,
  limits: KeyLimits,
  before: KeyLimits = noLimits
): InTransaction<void, UnknownModels> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* refuseUnknownModels((limits.models ?? []).filter((name) => before.models?.includes(name) !== true))
    const counted = isCounted(limits)
    const [stored] = yield* sql<{ counted: boolean }>`SELECT counted FROM api_key WHERE id = ${keyId}`
    yield* sql`UPDATE api_key SET counted = ${counted}, expires_at = ${limits.expiresAt ?? null}::timestamptz,
      models = ${limits.models === undefined ? null : [...limits.models]}::text[] WHERE id = ${keyId}`
    if (!counted && stored?.counted !== true) return
    if (stored?.counted !== true) yield* beginCounts(keyId)
    // While this transaction holds the lock, no transaction of the ledger changes the amounts that the open requests of
    // the key set aside.
    yield* sql`SELECT FROM counted_key WHERE key_id = ${keyId} FOR NO KEY UPDATE`
    yield* sql`UPDATE counted_key SET revision = revision + 1,
      spend_per_day_usd_micro = ${limits.spendPerDay ?? null}::bigint,
      spend_per_month_usd_micro = ${limits.spendPerMonth ?? null}::bigint,
      spend_total_usd_micro = ${limits.spendTotal ?? null}::bigint,
      requests_per_minute = ${limits.requestsPerMinute ?? null}::int,
      tokens_per_minute = ${limits.tokensPerMinute ?? null}::bigint,
      concurrent_requests = ${limits.concurrentRequests ?? null}::int,
      pending_pico = held.pico, open_requests = held.requests
      FROM (SELECT coalesce(sum(key_pico), 0)::bigint AS pico, count(*)::int AS requests
        FROM open_request WHERE api_key_id = ${keyId} AND key_tokens IS NOT NULL) AS held
      WHERE key_id = ${keyId}`
  })

const refuseUnknownModels = (models: ReadonlyArray<string>): InTransaction<void, UnknownModels> =>
  Effect.gen(function* () {
    if (models.length === 0) return
    const sql = yield* SqlClient.SqlClient
    const known = yield* sql<{ public_name: string }>`
      SELECT public_name FROM model WHERE ${sql.in("public_name", models)} AND NOT hidden`
    const names = new Set(known.map(({ public_name }) => public_name))
    const unknown = models.filter((name) => !names.has(name))
    if (unknown.length > 0) return yield* new UnknownModels({ models: unknown })
  })

/**
 * Sets the spend and the rate window to zero. The pending amount and the number of open requests stay: they belong to
 * open requests that were admitted while the key had earlier limits.
 */
const beginCounts = (keyId: ApiKeyId): InTransaction<void> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      INSERT INTO counted_key (key_id, day) VALUES (${keyId}, (clock_timestamp() AT TIME ZONE 'Asia/Jakarta')::date)
      ON CONFLICT (key_id) DO UPDATE SET day = excluded.day, spent_in_day_pico = 0, spent_in_month_pico = 0,
        spent_total_pico = 0, window_number = counted_key.window_number + 1, window_began_at = 'epoch',
        window_requests = 0, window_tokens = 0, revision = counted_key.revision + 1`
  })

/** Returns the limits for the audit log. An absent member means that there is no such limit. */
export const limitsDetail = (limits: KeyLimits): Record<string, string | number | ReadonlyArray<string>> => ({
  ...detailOf("spend_usd_micro_per_day", limits.spendPerDay?.toString()),
  ...detailOf("spend_usd_micro_per_month", limits.spendPerMonth?.toString()),
  ...detailOf("spend_usd_micro_total", limits.spendTotal?.toString()),
  ...detailOf("requests_per_minute", limits.requestsPerMinute),
  ...detailOf("tokens_per_minute", limits.tokensPerMinute),
  ...detailOf("concurrent_requests", limits.concurrentRequests),
  ...detailOf("expires_at", limits.expiresAt?.toISOString()),
  ...detailOf("models", limits.models)
})

const detailOf = <A>(name: string, value: A | undefined) => (value === undefined ? {} : { [name]: value })
