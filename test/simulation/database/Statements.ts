/**
 * The statements of the inference ledger, as functions over the rows of the modelled database.
 *
 * The names of the statements and the order of their parameters are the same as in
 * `packages/adapters-postgres/src/ledger`. `Contract.test.ts` compares each function, except that of `end_backend`,
 * with the SQL that it replaces.
 */
import { keyUsers, lockCountedKeys } from "./CountedKeys.ts"
import { type Database, textOf } from "./Database.ts"
import { type Cell, type Execution, lock, Refused, type RequestRow, type Transaction } from "./Rows.ts"
import { writeStatement } from "./Writes.ts"

type Row = ReadonlyArray<unknown>
export type Rows = ReadonlyArray<Row>
type Values = ReadonlyArray<unknown>
type Statement = (database: Database, transaction: Transaction, values: Values) => Execution<Rows>
/** A statement that waits for no lock. */
type Read = (database: Database, transaction: Transaction, values: Values) => Rows

const ids = (value: unknown): ReadonlyArray<string> => value as ReadonlyArray<string>
const firstsOf = (rows: Rows): ReadonlyArray<string> => rows.map(([first]) => first as string)
const byId = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Returns the accounts that can pay for these pairs of users and models, in the order of their ids. */
const matchingAccounts = (database: Database, transaction: Transaction, [users, models]: Values) => {
  const [userIds, modelIds] = [ids(users), ids(models)]
  return [...database.accounts.cells]
    .filter(([, cell]) => {
      const row = cell.seenBy(transaction)
      return (
        row !== undefined &&
        userIds.some((userId, i) => userId === row.userId && (row.modelId === null || row.modelId === modelIds[i]))
      )
    })
    .sort(([a], [b]) => byId(a, b))
    .map(([, cell]) => cell)
}

function* lockAccounts(database: Database, transaction: Transaction, values: Values, skips: boolean): Execution<Rows> {
  const rows: Array<Row> = []
  for (const cell of matchingAccounts(database, transaction, values)) {
    if (skips && cell.isLockedFor(transaction)) continue
    yield* lock(transaction, cell)
    const row = cell.seenBy(transaction)
    if (row !== undefined) rows.push([row.id, row.userId, row.modelId, row.credits, row.debits, row.pending])
  }
  return rows
}

const keyColumns = ({ keyPico, keyTokens, keyWindow }: RequestRow): Row => [keyPico, keyTokens, keyWindow]
const NO_KEY_COLUMNS: Row = [null, null, null]

const holdColumns = (row: RequestRow): Row => [
  row.requestId,
  row.userId,
  row.modelId,
  row.priceId,
  row.planTokens,
  row.paygPico,
  row.checkpointInput,
  row.checkpointOutput,
  row.keyId,
  ...keyColumns(row)
]

function* lockRequests(
  transaction: Transaction,
  cells: ReadonlyArray<Cell<RequestRow> | undefined>,
  skips: boolean
): Execution<Rows> {
  const rows: Array<Row> = []
  for (const cell of cells) {
    if (cell?.seenBy(transaction) === undefined || (skips && cell.isLockedFor(transaction))) continue
    yield* lock(transaction, cell)
    const row = cell.seenBy(transaction)
    if (row !== undefined) rows.push(holdColumns(row))
  }
  return rows
}

const requestCells = (database: Database, requestIds: unknown) =>
  [...new Set(ids(requestIds))].sort(byId).map((id) => database.requests.cells.get(id))

type Judge = (nodeId: string) => boolean

/** Returns whether a node is unknown or deregistered, or its last heartbeat is too old by the clock of the database. */
const isLate =
  ({ clockMillis, nodes }: Database, seconds: unknown): Judge =>
  (nodeId) => {
    const node = nodes.get(nodeId)
    return node === undefined || node.left || node.beatAt < clockMillis - (seconds as number) * 1_000
  }

/** Returns whether a node has deregistered, or its last heartbeat is one of these. */
const isSilent =
  ({ nodes }: Database, nodeIds: unknown, beats: unknown): Judge =>
  (nodeId) => {
    const node = nodes.get(nodeId)
    const beat = (beats as ReadonlyArray<string | null>)[ids(nodeIds).indexOf(nodeId)]
    return node?.left === true || beat === textOf(node)
  }

const lockOrphans = (
  database: Database,
  transaction: Transaction,
  isDead: Judge,
  [, excluded, limit]: Values
): Execution<Rows> => {
  const cells = [...database.requests.cells]
    .filter(([requestId, cell]) => {
      const row = cell.seenBy(transaction)
      if (row === undefined || ids(excluded).includes(requestId)) return false
      return isDead(row.nodeId) && !cell.isLockedFor(transaction)
    })
    .sort(([a], [b]) => byId(a, b))
    .slice(0, limit as number)
  return lockRequests(
    transaction,
    cells.map(([, cell]) => cell),
    true
  )
}

function* endBackend(database: Database, [pid, startedAt, millis]: Values): Execution<Rows> {
  const session = database.sessions.get(pid as number)
  if (session === undefined || session.startedAt !== startedAt) return []
  const { random } = database.time
  if (database.faults.refused > 0 && random.chance(0.1)) {
    yield millis as number
    return [[session.ended]]
  }
  yield random.skewed(0, 5)
  session.end(new Refused("57P01", "terminated by another session"))
  return [[true]]
}

const reads: Readonly<Record<string, Read>> = {
  valid_keys: (database, _, [keyIds]) =>
    ids(keyIds)
      .filter((id) => database.keys.get(id)?.valid)
      .map((id) => [id, database.keys.get(id)?.counted === true]),
  read_counted_key_users: (database, transaction, [keyIds]) => keyUsers(database, transaction, ids(keyIds)),
  earlier_rows: (database, transaction, [requestIds]) =>
    ids(requestIds).flatMap((id): Rows => {
      const open = database.requests.cells.get(id)?.seenBy(transaction)
      const settled = database.settlements.cells.get(id)?.seenBy(transaction)
      return [
        ...(open === undefined ? [] : [[id, null, open.planTokens, open.paygPico, ...keyColumns(open)]]),
        ...(settled === undefined
          ? []
          : [[id, settled.ending, settled.planTokens, settled.paygPico, ...NO_KEY_COLUMNS]])
      ]
    }),
  read_hold_users: (database, transaction, [requestIds]) =>
    requestCells(database, requestIds).flatMap((cell): Rows => {
      const row = cell?.seenBy(transaction)
      return row === undefined ? [] : [[row.requestId, row.userId]]
    }),
  read_account_users: (database, transaction, values) =>
    matchingAccounts(database, transaction, values).flatMap((cell): Rows => {
      const row = cell.seenBy(transaction)
      return row === undefined ? [] : [[row.id, row.userId]]
    }),
  read_prices: (database, _, [priceIds]) =>
    ids(priceIds).flatMap((id): Rows => {
      const price = database.prices.get(id)
      return price === undefined ? [] : [[id, ...price.rates]]
    }),
  save_checkpoints: (database, transaction, [requestIds, inputs, outputs, nodeId]) => {
    for (const [i, id] of ids(requestIds).entries()) {
      const cell = database.requests.cells.get(id)
      const row = cell?.seenBy(transaction)
      if (cell === undefined || row === undefined || row.nodeId !== nodeId || cell.isLockedFor(transaction)) continue
      transaction.own(cell)
      const [input, output] = [(inputs as ReadonlyArray<bigint>)[i] ?? 0n, (outputs as ReadonlyArray<bigint>)[i] ?? 0n]
      if (input > 1_000_000_000n || output > 1_000_000_000n) throw new Refused("23514", "checkpoint")
      cell.written = { ...row, checkpointInput: input, checkpointOutput: output }
    }
    return []
  }
}

const statements: Readonly<Record<string, Statement>> = {
  lock_holds: (database, transaction, [requestIds]) =>
    lockRequests(transaction, requestCells(database, requestIds), false),
  lock_free_holds: (database, transaction, [requestIds]) =>
    lockRequests(transaction, requestCells(database, requestIds), true),
  lock_accounts: (database, transaction, values) => lockAccounts(database, transaction, values, false),
  lock_free_accounts: (database, transaction, values) => lockAccounts(database, transaction, values, true),
  lock_counted_keys: (database, transaction, [keyIds]) => lockCountedKeys(database, transaction, ids(keyIds), false),
  lock_free_counted_keys: (database, transaction, [keyIds]) =>
    lockCountedKeys(database, transaction, ids(keyIds), true),
  *lock_orphans(database, transaction, values) {
    const rows = yield* lockOrphans(database, transaction, isLate(database, values[0]), values)
    database.onSweep(firstsOf(rows), "database clock")
    return rows
  },
  *lock_silent(database, transaction, values) {
    const rows = yield* lockOrphans(database, transaction, isSilent(database, values[0], values[3]), values)
    database.onSweep(firstsOf(rows), "heartbeats")
    return rows
  },
  end_backend: (database, _, values) => endBackend(database, values)
}

export function* executionOf(
  database: Database,
  transaction: Transaction,
  { name = "", values }: { readonly name: string | undefined; readonly values: Values }
): Execution<Rows> {
  const read = reads[name]
  if (read !== undefined) return read(database, transaction, values)
  const statement = statements[name]
  if (statement !== undefined) return yield* statement(database, transaction, values)
  if (name.startsWith("write_")) return yield* writeStatement(database, transaction, name, values)
  throw new Error(`the model of the database does not know the statement ${name}`)
}
