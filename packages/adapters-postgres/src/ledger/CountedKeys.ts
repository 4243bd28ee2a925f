/**
 * Locks and reads the rows of limited keys, and writes their counts. A row contains the budgets, the rate limits and
 * the limit of concurrent requests of a key, and the counts.
 *
 * A transaction locks these rows after the holds and the accounts, in the order of the key ids. `LockedRows.ts` states
 * the exception. Each write of the counts or of the limits increments the revision of the row. The database refuses a
 * write of the counts if a revision has changed since the row was read.
 */
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import type { CountedKey, KeyCounts } from "@tollgate/domain/ledger/KeyCounts"
import { toUsdPico, UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { arrayOf, columnsOf } from "../client/SqlValues.ts"
import type { Query, Rows, Statement } from "./DedicatedConnection.ts"
import { validKeys } from "./HoldRows.ts"
import type { Part, WriteStatement } from "./WriteStatement.ts"

/**
 * A row of a limited key. The table can also contain a row without limits: its key is not a limited key, and `keyRows`
 * omits the row.
 */
export interface CountedKeyRow extends CountedKey {
  readonly revision: bigint
}

/** The rows of limited keys, and the time of the database at which they were read. */
export interface CountedKeyRows {
  readonly rows: ReadonlyMap<ApiKeyId, CountedKeyRow>
  readonly nowMillis: number
}

export const NO_KEYS: CountedKeyRows = { rows: new Map(), nowMillis: 0 }

const COLUMNS = `counted_key.key_id, revision, spend_per_day_usd_micro, spend_per_month_usd_micro, spend_total_usd_micro,
  requests_per_minute, tokens_per_minute, concurrent_requests, day::text, spent_in_day_pico, spent_in_month_pico,
  spent_total_pico, pending_pico, open_requests, window_number,
  floor(extract(epoch FROM window_began_at) * 1000)::float8, window_requests, window_tokens,
  floor(extract(epoch FROM statement_timestamp()) * 1000)::float8`

const locking = (name: string, how: string): Statement => ({
  name,
  text: `
    SELECT ${COLUMNS} FROM counted_key WHERE key_id = ANY ($1::uuid[]) ORDER BY key_id FOR NO KEY UPDATE ${how}`
})

const LOCK_KEYS = locking("lock_counted_keys", "")
const LOCK_FREE_KEYS = locking("lock_free_counted_keys", "SKIP LOCKED")
const READ_KEY_USERS: Statement = {
  name: "read_counted_key_users",
  text: `
    SELECT counted_key.key_id, api_key.user_id FROM counted_key JOIN api_key ON api_key.id = counted_key.key_id
    WHERE counted_key.key_id = ANY ($1::uuid[])`
}

/** Locks the rows of these keys. Waits for rows that another session has locked. */
export const lockKeys = async (query: Query, keyIds: ReadonlyArray<ApiKeyId>): Promise<CountedKeyRows> =>
  keyIds.length === 0 ? NO_KEYS : keyRows(await query(LOCK_KEYS, [keyIds]))

export interface FreeKeys {
  readonly keys: CountedKeyRows
  readonly contended: ReadonlyArray<UserId>
}

/** Locks the rows that no other session has locked. Does not wait. `contended` contains the users of the other rows. */
export const lockFreeKeys = async (query: Query, keyIds: ReadonlyArray<ApiKeyId>): Promise<FreeKeys> => {
  if (keyIds.length === 0) return { keys: NO_KEYS, contended: [] }
  const [locked, all] = await Promise.all([query(LOCK_FREE_KEYS, [keyIds]), query(READ_KEY_USERS, [keyIds])])
  const free = new Set(locked.map(([keyId]) => keyId))
  const rows = all as unknown as ReadonlyArray<[keyId: string, userId: UserId]>
  return { keys: keyRows(locked), contended: rows.filter(([keyId]) => !free.has(keyId)).map(([, userId]) => userId) }
}

/** Returns the rows that have limits. */
const keyRows = (rows: Rows): CountedKeyRows => {
  const keys = new Map<ApiKeyId, CountedKeyRow>()
  let nowMillis = 0
  for (const row of rows as unknown as ReadonlyArray<KeyRow>) {
    const [keyId, revision, perDay, perMonth, total, requests, tokens, concurrent, day, ...counts] = row
    const [inDay, inMonth, inTotal, pending, open, number, beganAt, windowRequests, windowTokens, now] = counts
    nowMillis = now
    const limits = {
      spendPerDay: pico(perDay),
      spendPerMonth: pico(perMonth),
      spendTotal: pico(total),
      requestsPerMinute: requests ?? undefined,
      tokensPerMinute: tokens ?? undefined,
      concurrentRequests: concurrent ?? undefined
    }
    if (Object.values(limits).every((limit) => limit === undefined)) continue
    keys.set(keyId, {
      revision,
      limits,
      counts: {
        day,
        spentInDay: UsdPico(inDay),
        spentInMonth: UsdPico(inMonth),
        spentTotal: UsdPico(inTotal),
        pending: UsdPico(pending),
        openRequests: open,
        window: { number, beganAtMillis: beganAt, requests: windowRequests, tokens: windowTokens }
      }
    })
  }
  return { rows: keys, nowMillis }
}

const pico = (micro: bigint | null): UsdPico | undefined => (micro === null ? undefined : toUsdPico(UsdMicro(micro)))

type KeyRow = readonly [
  keyId: ApiKeyId,
  revision: bigint,
  spendPerDay: bigint | null,
  spendPerMonth: bigint | null,
  spendTotal: bigint | null,
  requestsPerMinute: number | null,
  tokensPerMinute: bigint | null,
  concurrentRequests: number | null,
  day: string,
  spentInDay: bigint,
  spentInMonth: bigint,
  spentTotal: bigint,
  pending: bigint,
  openRequests: number,
  windowNumber: bigint,
  windowBeganAtMillis: number,
  windowRequests: number,
  windowTokens: bigint,
  nowMillis: number
]

interface Step {
  readonly keyId: ApiKeyId
  readonly revision: bigint
  readonly counts: KeyCounts
}

/**
 * Stores the counts during the decisions of one transaction, like `WorkingBalances`: each decision changes the counts,
 * and the next decision uses the changed counts.
 */
export class WorkingKeys {
  readonly nowMillis: number
  readonly #read: ReadonlyMap<ApiKeyId, CountedKeyRow>
  readonly #changed = new Map<ApiKeyId, KeyCounts>()
  readonly #admitted = new Set<ApiKeyId>()

  constructor({ nowMillis, rows }: CountedKeyRows) {
    this.nowMillis = nowMillis
    this.#read = rows
  }

  /** Returns a key with its current counts; undefined if the key is not limited. */
  of(keyId: ApiKeyId): CountedKey | undefined {
    const row = this.#read.get(keyId)
    const counts = this.#changed.get(keyId)
    return row === undefined || counts === undefined ? row : { limits: row.limits, counts }
  }

  set(keyId: ApiKeyId, counts: KeyCounts): void {
    if (this.#read.get(keyId)?.counts !== counts) this.#changed.set(keyId, counts)
  }

  /** Records that a request with this key was admitted, so the write checks that the key is still valid. */
  admitted(keyId: ApiKeyId): void {
    this.#admitted.add(keyId)
  }

  /**
   * Returns the statement that writes the new counts. The database refuses to write if another transaction has changed
   * one of these rows, or if the key of an admitted request is no longer valid or no longer limited.
   */
  get changes(): ReadonlyArray<WriteStatement> {
    const steps = [...this.#changed].map(([keyId, counts]): Step => {
      const { revision } = this.#read.get(keyId) as CountedKeyRow
      return { keyId, revision, counts }
    })
    if (steps.length === 0) return []
    steps.sort((a, b) => (a.keyId < b.keyId ? -1 : 1))
    return [{ part: UPDATE, values: [arrayOf([...this.#admitted]), ...STEP.arrays(steps)] }]
  }

  /** Returns the rows as they are in the database after the changes have been written. */
  get written(): ReadonlyMap<ApiKeyId, CountedKeyRow> {
    return new Map(
      [...this.#read].map(([keyId, row]) => {
        const counts = this.#changed.get(keyId)
        return [keyId, counts === undefined ? row : { limits: row.limits, counts, revision: row.revision + 1n }]
      })
    )
  }
}

const STEP = columnsOf<Step>({
  key_id: ["uuid", ({ keyId }) => keyId],
  revision: ["bigint", ({ revision }) => revision],
  day: ["date", ({ counts }) => counts.day],
  spent_in_day_pico: ["bigint", ({ counts }) => counts.spentInDay],
  spent_in_month_pico: ["bigint", ({ counts }) => counts.spentInMonth],
  spent_total_pico: ["bigint", ({ counts }) => counts.spentTotal],
  pending_pico: ["bigint", ({ counts }) => counts.pending],
  open_requests: ["int", ({ counts }) => counts.openRequests],
  window_number: ["bigint", ({ counts }) => counts.window.number],
  window_began_millis: ["float8", ({ counts }) => counts.window.beganAtMillis],
  window_requests: ["int", ({ counts }) => counts.window.requests],
  window_tokens: ["bigint", ({ counts }) => counts.window.tokens]
})

const UPDATE: Part = {
  name: "countedkeys",
  writes: (first) => `
    keys_written AS (
      UPDATE counted_key SET revision = counted_key.revision + 1, day = step.day,
        spent_in_day_pico = step.spent_in_day_pico, spent_in_month_pico = step.spent_in_month_pico,
        spent_total_pico = step.spent_total_pico, pending_pico = step.pending_pico,
        open_requests = step.open_requests, window_number = step.window_number,
        window_began_at = to_timestamp(step.window_began_millis / 1000), window_requests = step.window_requests,
        window_tokens = step.window_tokens
      FROM ${STEP.unnested(first + 1)} AS step (${STEP.names})
      WHERE counted_key.key_id = step.key_id AND counted_key.revision = step.revision
      RETURNING 1)`,
  precondition: (first) => `(SELECT count(*) FROM keys_written) = cardinality($${first + 1}::uuid[])
      AND (SELECT count(*) FROM (${validKeys(`$${first}`)} AND api_key.counted) AS valid_counted) = cardinality($${first}::uuid[])`
}
