/**
 * The statement that writes the decisions of a ledger transaction, as a function over the rows of the modelled
 * database.
 *
 * The statement consists of parts. Each part writes rows and returns whether its precondition is true. If one is false,
 * the whole statement is refused with `TG001`.
 */
import { big, type Column, check, columnOf, optional, optionalBig, text } from "./Columns.ts"
import { writeCounts } from "./CountedKeys.ts"
import type { Database } from "./Database.ts"
import {
  type AccountRow,
  type Cell,
  type Execution,
  lock,
  Refused,
  type RequestRow,
  type SettlementRow,
  type Transaction
} from "./Rows.ts"

/** The number of parameters of each part. */
export const PARTS: Readonly<Record<string, number>> = {
  settle: 22,
  grow: 7,
  countedgrow: 8,
  accounts: 9,
  countedkeys: 13,
  hold: 13,
  countedhold: 16,
  once: 27
}

export function* writeStatement(
  database: Database,
  transaction: Transaction,
  name: string,
  values: ReadonlyArray<unknown>
): Execution<ReadonlyArray<ReadonlyArray<unknown>>> {
  let first = 0
  const parts = name
    .split("_")
    .slice(1)
    .map((part) => {
      const at = first
      first += PARTS[part] ?? 0
      return { part, values: values.slice(at, first) }
    })
  if (first !== values.length) throw new Error(`the model of the database does not know the parameters of ${name}`)
  // Plain reads see the rows that were committed when the statement began.
  const fresh = parts.map((each) => isFresh(database, transaction, each))
  for (const [i, { part, values }] of parts.entries()) {
    const isPreconditionMet = yield* written(database, transaction, part, values)
    if (!isPreconditionMet || !fresh[i]) throw new Refused("TG001", "a row that the decision is based on has changed")
  }
  return [[true]]
}

function* written(
  database: Database,
  transaction: Transaction,
  part: string,
  values: ReadonlyArray<unknown>
): Execution<boolean> {
  if (part === "hold" || part === "countedhold") return yield* insertHolds(database, transaction, values)
  if (part === "once") return yield* insertSettlements(database, transaction, values)
  const columns = values.map(columnOf)
  if (part === "settle") return yield* settle(database, transaction, columns)
  if (part === "accounts") return yield* writeAccounts(database, transaction, columns)
  if (part === "countedkeys") return yield* writeCounts(database, transaction, columns.slice(1))
  return yield* grow(database, transaction, columns)
}

/**
 * Returns false if an API key is invalid, if a key became limited or lost its limits after the decision read it, or if
 * an account exists that was cached as missing.
 */
const isFresh = (
  database: Database,
  transaction: Transaction,
  { part, values }: { readonly part: string; readonly values: ReadonlyArray<unknown> }
): boolean => {
  if (part.endsWith("hold") || part === "once" || part === "countedkeys") {
    const isCounted = part === "countedkeys"
    return columnOf(values[0]).every((id) => {
      const key = database.keys.get(id ?? "")
      return key?.valid && (key.counted === true) === isCounted
    })
  }
  if (part !== "accounts") return true
  const [noPayg, users, models] = values.slice(6).map(columnOf)
  if (noPayg?.length === 0 && users?.length === 0) return true
  for (const cell of database.accounts.cells.values()) {
    const row = cell.seenBy(transaction)
    if (row === undefined) continue
    const { modelId, userId } = row
    if (modelId === null ? noPayg?.includes(userId) : users?.some((id, i) => id === userId && models?.[i] === modelId))
      return false
  }
  return true
}

function* settle(database: Database, transaction: Transaction, columns: ReadonlyArray<Column>): Execution<boolean> {
  const requestIds = columns[0] as ReadonlyArray<string>
  const deleted = new Map<string, RequestRow>()
  for (const id of [...requestIds].sort()) {
    const cell = database.requests.cells.get(id)
    if (cell?.seenBy(transaction) === undefined) continue
    yield* lock(transaction, cell)
    const row = cell.seenBy(transaction)
    if (row === undefined) continue
    deleted.set(id, row)
    cell.written = undefined
  }
  let written = 0
  for (const [i, id] of requestIds.entries()) {
    const hold = deleted.get(id)
    if (hold === undefined || hold.planTokens !== big(columns, 20, i) || hold.paygPico !== big(columns, 21, i)) continue
    const row = settlementOf(columns, i, hold, transaction.by)
    yield* insertSettlement(database, transaction, row)
    written += 1
  }
  return written === requestIds.length
}

/** Inserts the settlements of requests that were admitted in the same transaction, and therefore have no hold. */
function* insertSettlements(
  database: Database,
  transaction: Transaction,
  [, ...arrays]: ReadonlyArray<unknown>
): Execution<boolean> {
  const columns = arrays.map(columnOf)
  for (const [i, requestId] of (columns[0] as ReadonlyArray<string>).entries()) {
    const request = {
      requestId,
      userId: text(columns, 20, i),
      keyId: text(columns, 21, i),
      streamed: text(columns, 25, i) === "true"
    }
    rejectIfRequested(database, requestId)
    yield* insertSettlement(database, transaction, settlementOf(columns, i, request, transaction.by))
  }
  return true
}

function* insertSettlement(database: Database, transaction: Transaction, row: SettlementRow): Execution<void> {
  checkSettlement(database, row)
  yield* insert(transaction, database.settlements.cell(row.requestId), row)
}

type SettledRequest = Pick<RequestRow, "requestId" | "userId" | "keyId" | "streamed">

const settlementOf = (
  columns: ReadonlyArray<Column>,
  i: number,
  request: SettledRequest,
  by: string
): SettlementRow => ({
  requestId: request.requestId,
  userId: request.userId,
  keyId: request.keyId,
  ending: text(columns, 1, i),
  source: text(columns, 2, i),
  charged: [3, 4, 5, 6].map((column) => big(columns, column, i)),
  consumed: [7, 8, 9, 10].map((column) => big(columns, column, i)),
  costPico: big(columns, 11, i),
  planAccount: optional(columns, 12, i),
  planTokens: big(columns, 13, i),
  planValuePico: big(columns, 14, i),
  paygAccount: optional(columns, 15, i),
  paygPico: big(columns, 16, i),
  writeoffPico: big(columns, 17, i),
  streamed: request.streamed,
  writtenBy: by
})

const checkSettlement = (database: Database, row: SettlementRow): void => {
  const { charged, consumed, costPico, paygPico, planTokens, planValuePico, writeoffPico } = row
  const isCount = (n: bigint) => n >= 0n && n <= 1_000_000_000n
  check([...charged, ...consumed].every(isCount), "settlement token counts")
  check(
    [costPico, planTokens, planValuePico, paygPico, writeoffPico].every((n) => n >= 0n),
    "settlement amounts"
  )
  check(planValuePico + paygPico + writeoffPico === costPico, "settlement_adds_up")
  check(planTokens <= charged.reduce((a, b) => a + b, 0n), "settlement plan tokens")
  check(row.planAccount !== null || planTokens === 0n, "settlement plan account")
  check(row.paygAccount !== null || paygPico === 0n, "settlement payg account")
  check(row.ending !== "failed" || (costPico === 0n && planTokens === 0n), "settlement_failed_is_free")
  const owns = (id: string | null) => id === null || database.accounts.cells.get(id)?.committed?.userId === row.userId
  if (!owns(row.planAccount) || !owns(row.paygAccount)) throw new Refused("23503", "refuse_dangling_settlement")
}

/** Inserts a row. Waits for another transaction that inserts a row with the same id. */
function* insert<Row>(transaction: Transaction, cell: Cell<Row>, row: Row): Execution<void> {
  if (cell.seenBy(transaction) !== undefined) throw new Refused("23505", "duplicate key")
  yield* lock(transaction, cell)
  if (cell.seenBy(transaction) !== undefined) throw new Refused("23505", "duplicate key")
  cell.written = row
}

function* grow(database: Database, transaction: Transaction, columns: ReadonlyArray<Column>): Execution<boolean> {
  const requestIds = columns[0] as ReadonlyArray<string>
  let grown = 0
  for (const [i, id] of requestIds.entries()) {
    const cell = database.requests.cells.get(id)
    const isAsBefore = (row: RequestRow | undefined): row is RequestRow =>
      row?.planTokens === big(columns, 1, i) && row.paygPico === big(columns, 2, i)
    if (cell === undefined || !isAsBefore(cell.seenBy(transaction))) continue
    yield* lock(transaction, cell)
    const row = cell.seenBy(transaction)
    if (!isAsBefore(row)) continue
    const [planAccount, planTokens] = [optional(columns, 3, i), big(columns, 4, i)]
    const [paygAccount, paygPico] = [optional(columns, 5, i), big(columns, 6, i)]
    rejectIfRequested(database, id)
    checkHold({ planAccount, planTokens, paygAccount, paygPico })
    const keyPico = columns.length > 7 ? optionalBig(columns, 7, i) : row.keyPico
    cell.written = { ...row, planAccount, planTokens, paygAccount, paygPico, keyPico }
    grown += 1
  }
  return grown === requestIds.length
}

const checkHold = (row: Pick<RequestRow, "planAccount" | "planTokens" | "paygAccount" | "paygPico">): void => {
  check(row.planTokens >= 0n && row.paygPico >= 0n, "open_request amounts")
  check(row.planAccount !== null || row.planTokens === 0n, "open_request plan account")
  check(row.paygAccount !== null || row.paygPico === 0n, "open_request payg account")
}

/** Rejects a row once, if the simulation has requested it. */
const rejectIfRequested = (database: Database, requestId: string): void => {
  if (database.rejected.delete(requestId)) throw new Refused("23514", "requested by the simulation")
}

function* writeAccounts(
  database: Database,
  transaction: Transaction,
  columns: ReadonlyArray<Column>
): Execution<boolean> {
  const accountIds = columns[0] as ReadonlyArray<string>
  let changed = 0
  for (const [i, id] of accountIds.entries()) {
    const cell = database.accounts.cells.get(id)
    const isAsBefore = (row: AccountRow | undefined): row is AccountRow =>
      row !== undefined &&
      row.credits === big(columns, 1, i) &&
      row.debits === big(columns, 2, i) &&
      row.pending === big(columns, 3, i)
    if (cell === undefined || !isAsBefore(cell.seenBy(transaction))) continue
    yield* lock(transaction, cell)
    const row = cell.seenBy(transaction)
    if (!isAsBefore(row)) continue
    const [debits, pending] = [big(columns, 4, i), big(columns, 5, i)]
    if (debits < row.debits) throw new Refused("23001", "only_grows")
    check(pending >= 0n, "account pending")
    check(row.credits - debits - pending >= 0n, "account_available")
    cell.written = { ...row, debits, pending }
    changed += 1
  }
  return changed === accountIds.length
}

function* insertHolds(
  database: Database,
  transaction: Transaction,
  [, nodeId, ...arrays]: ReadonlyArray<unknown>
): Execution<boolean> {
  const columns = arrays.map(columnOf)
  for (const [i, requestId] of (columns[0] as ReadonlyArray<string>).entries()) {
    const row: RequestRow = {
      requestId,
      userId: text(columns, 1, i),
      keyId: text(columns, 2, i),
      modelId: text(columns, 3, i),
      priceId: text(columns, 4, i),
      protocol: text(columns, 5, i),
      streamed: text(columns, 6, i) === "true",
      planAccount: optional(columns, 7, i),
      planTokens: big(columns, 8, i),
      paygAccount: optional(columns, 9, i),
      paygPico: big(columns, 10, i),
      nodeId: nodeId as string,
      checkpointInput: 0n,
      checkpointOutput: 0n,
      keyPico: optionalBig(columns, 11, i),
      keyTokens: optionalBig(columns, 12, i),
      keyWindow: optionalBig(columns, 13, i)
    }
    rejectIfRequested(database, requestId)
    checkHold(row)
    yield* insert(transaction, database.requests.cell(requestId), row)
  }
  return true
}
