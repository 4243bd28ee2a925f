/**
 * Database sessions that do not belong to the ledger: they credit accounts, hold row locks, or revoke API keys.
 */
import type { Database } from "./database/Database.ts"
import { type Cell, type Execution, lock, type Transaction } from "./database/Rows.ts"

export const MODEL = "m"
export const userOf = (customer: number): string => `user ${customer}`

export const otherSession = (database: Database, customers: number, scale: bigint): string => {
  const { random } = database.time
  const customer = random.integer(0, customers - 1)
  const kind = random.pick(["credit", "credit", "lock account", "lock request", "revoke"])
  const suffix = random.pick(["plan", "payg"])
  const id = `${customer} ${suffix}`
  if (kind === "revoke") {
    const key = database.keys.get(`key ${customer}`)
    if (key !== undefined && random.chance(0.5)) key.valid = false
  } else if (kind === "credit")
    credit(database, id, userOf(customer), suffix === "plan" ? MODEL : null, suffix === "plan" ? 1n : scale)
  else if (kind === "lock account") lockFor(database, database.accounts.cells.get(id))
  else
    lockFor(
      database,
      [...database.requests.cells.values()].find(({ committed }) => committed !== undefined)
    )
  return `${kind} (customer ${customer}, ${suffix})`
}

/** Credits an account; creates it if it does not exist. */
const credit = (database: Database, id: string, userId: string, modelId: string | null, scale: bigint): void => {
  const { credited, time } = database
  const amount = BigInt(time.random.integer(1, 50_000)) * scale
  const cell = database.accounts.cell(id)
  const millis = time.random.skewed(0, 50)
  database.runElsewhere("credit", function* (transaction: Transaction): Execution<boolean> {
    yield* lock(transaction, cell)
    const row = cell.seenBy(transaction) ?? { id, userId, modelId, credits: 0n, debits: 0n, pending: 0n }
    cell.written = { ...row, credits: row.credits + amount }
    yield millis
    transaction.atCommit.push(() => credited.set(id, (credited.get(id) ?? 0n) + amount))
    return true
  })
}

export const lockFor = <Row>(
  database: Database,
  cell: Cell<Row> | undefined,
  millis = database.time.random.skewed(1, 3_000)
): void => {
  if (cell === undefined) return
  database.runElsewhere("operator", function* (transaction: Transaction): Execution<boolean> {
    yield* lock(transaction, cell)
    yield millis
    return false
  })
}
