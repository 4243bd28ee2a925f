/**
 * The table of limited keys in the modelled database: its statements in the ledger, and the change of limits by another
 * session (`packages/adapters-postgres/src/customer/KeyLimitRows.ts`).
 */
import { dateOf } from "@tollgate/domain/rankings/JakartaCalendar"
import { big, type Column, check, text } from "./Columns.ts"
import type { Database } from "./Database.ts"
import { type Execution, lock, type Transaction } from "./Rows.ts"

/** The limits of a key. The budgets are in micro-USD. */
export interface LimitColumns {
  readonly perDay: bigint | null
  readonly perMonth: bigint | null
  readonly total: bigint | null
  readonly requests: number | null
  readonly tokens: bigint | null
  readonly concurrent: number | null
}

export interface CountedKeyRow extends LimitColumns {
  readonly keyId: string
  readonly revision: bigint
  readonly day: string
  readonly spentInDay: bigint
  readonly spentInMonth: bigint
  readonly spentTotal: bigint
  readonly pending: bigint
  readonly openRequests: number
  readonly windowNumber: bigint
  readonly windowBeganAt: number
  readonly windowRequests: number
  readonly windowTokens: bigint
}

export const NO_LIMITS: LimitColumns = {
  perDay: null,
  perMonth: null,
  total: null,
  requests: null,
  tokens: null,
  concurrent: null
}

type Rows = ReadonlyArray<ReadonlyArray<unknown>>

const cellsOf = (database: Database, keyIds: ReadonlyArray<string>) =>
  [...new Set(keyIds)].sort().map((id) => database.countedKeys.cells.get(id))

export function* lockCountedKeys(
  database: Database,
  transaction: Transaction,
  keyIds: ReadonlyArray<string>,
  skips: boolean
): Execution<Rows> {
  const rows: Array<ReadonlyArray<unknown>> = []
  const now = database.nowMillis
  for (const cell of cellsOf(database, keyIds)) {
    if (cell?.seenBy(transaction) === undefined || (skips && cell.isLockedFor(transaction))) continue
    yield* lock(transaction, cell)
    const row = cell.seenBy(transaction)
    if (row !== undefined) rows.push([...columnsOf(row), now])
  }
  return rows
}

/** Returns the columns of a row in the order in which the ledger selects them. */
export const columnsOf = (row: CountedKeyRow): ReadonlyArray<unknown> => [
  row.keyId,
  row.revision,
  row.perDay,
  row.perMonth,
  row.total,
  row.requests,
  row.tokens,
  row.concurrent,
  row.day,
  row.spentInDay,
  row.spentInMonth,
  row.spentTotal,
  row.pending,
  row.openRequests,
  row.windowNumber,
  row.windowBeganAt,
  row.windowRequests,
  row.windowTokens
]

export const keyUsers = (database: Database, transaction: Transaction, keyIds: ReadonlyArray<string>): Rows =>
  cellsOf(database, keyIds).flatMap((cell): Rows => {
    const row = cell?.seenBy(transaction)
    return row === undefined ? [] : [[row.keyId, database.keys.get(row.keyId)?.userId]]
  })

/** Writes the counts of keys. The columns begin with the ids of the keys. */
export function* writeCounts(
  database: Database,
  transaction: Transaction,
  columns: ReadonlyArray<Column>
): Execution<boolean> {
  const keyIds = columns[0] as ReadonlyArray<string>
  let changed = 0
  for (const [i, id] of keyIds.entries()) {
    const cell = database.countedKeys.cells.get(id)
    const isAsBefore = (row: CountedKeyRow | undefined): row is CountedKeyRow => row?.revision === big(columns, 1, i)
    if (cell === undefined || !isAsBefore(cell.seenBy(transaction))) continue
    yield* lock(transaction, cell)
    const row = cell.seenBy(transaction)
    if (!isAsBefore(row)) continue
    cell.written = checked({
      ...row,
      revision: row.revision + 1n,
      day: text(columns, 2, i),
      spentInDay: big(columns, 3, i),
      spentInMonth: big(columns, 4, i),
      spentTotal: big(columns, 5, i),
      pending: big(columns, 6, i),
      openRequests: Number(text(columns, 7, i)),
      windowNumber: big(columns, 8, i),
      windowBeganAt: Number(text(columns, 9, i)),
      windowRequests: Number(text(columns, 10, i)),
      windowTokens: big(columns, 11, i)
    })
    changed += 1
  }
  return changed === keyIds.length
}

const checked = (row: CountedKeyRow): CountedKeyRow => {
  check(row.spentInDay >= 0n, "spent_in_day_pico")
  check(row.spentInMonth >= row.spentInDay, "spent_in_month_pico")
  check(row.spentTotal >= row.spentInMonth, "spent_total_pico")
  check(row.pending >= 0n, "pending_pico")
  check(row.openRequests >= 0, "open_requests")
  check(row.windowRequests >= 0 && row.windowTokens >= 0n, "window counts")
  return row
}

/**
 * Replaces the limits of a key, as another session does. The session pauses while it holds the lock of the row. The
 * result is whether it commits.
 */
export function* changeLimits(
  database: Database,
  transaction: Transaction,
  keyId: string,
  limits: LimitColumns,
  pauseMillis: number
): Execution<boolean> {
  const key = database.keys.get(keyId)
  const cell = database.countedKeys.cell(keyId)
  yield* lock(transaction, cell)
  const isCounted = Object.values(limits).some((limit) => limit !== null)
  const wasCounted = key?.counted === true
  if (key === undefined || (!isCounted && !wasCounted)) return false
  const before = wasCounted ? cell.seenBy(transaction) : begun(keyId, database.nowMillis, cell.seenBy(transaction))
  if (before === undefined) throw new Error(`there are no counts of ${keyId}`)
  yield pauseMillis
  const held = [...database.requests.rows()].filter((row) => row.keyId === keyId && row.keyTokens !== null)
  cell.written = {
    ...before,
    ...limits,
    revision: before.revision + 1n,
    pending: held.reduce((sum, { keyPico }) => sum + (keyPico ?? 0n), 0n),
    openRequests: held.length
  }
  yield pauseMillis
  transaction.atCommit.push(() => {
    key.counted = isCounted
    if (!wasCounted) key.begun = (key.begun ?? 0) + 1
  })
  return true
}

/** Returns the row of a key that becomes a limited key: without spend, and with a new rate window. */
const begun = (keyId: string, nowMillis: number, row: CountedKeyRow | undefined): CountedKeyRow => ({
  keyId,
  ...NO_LIMITS,
  ...row,
  revision: row === undefined ? 0n : row.revision + 1n,
  day: dateOf(new Date(nowMillis)),
  spentInDay: 0n,
  spentInMonth: 0n,
  spentTotal: 0n,
  pending: row?.pending ?? 0n,
  openRequests: row?.openRequests ?? 0,
  windowNumber: row === undefined ? 0n : row.windowNumber + 1n,
  windowBeganAt: 0,
  windowRequests: 0,
  windowTokens: 0n
})
