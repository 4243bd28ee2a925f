/**
 * Stores accounts and holds in two tables. Functions of `@tollgate/domain` decide each hold and each settlement, and
 * this file stores the new balances that they return.
 *
 * Every transaction locks the row of the account first, so two requests never hold the same money.
 */
import { AccountId, type PaygAccount } from "@tollgate/domain/ledger/Account"
import { decideHold, type Hold, type InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { PicoPerToken } from "@tollgate/domain/ledger/Price"
import { decideSettlement, type Settlement } from "@tollgate/domain/ledger/Settlement"
import { plain } from "@tollgate/domain/ledger/TokenUsage"
import { fromCount, zero as noTokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Either from "effect/Either"
import { Pool, type PoolClient } from "pg"

const pool = new Pool({ connectionString: process.env.DATABASE_URL })
// An error event without a listener ends the process. If an idle connection is lost, the pool emits an error event. If
// a connection that a request uses is lost, the connection emits it, and the request fails at its next statement.
pool.on("error", (error) => console.error(`a database connection was lost: ${error.message}`))
pool.on("connect", (client) => client.on("error", () => {}))

const inputPrice = PicoPerToken(1_000_000n)
const price = { input: inputPrice, cacheWrite: inputPrice, cacheRead: inputPrice, output: PicoPerToken(2_000_000n) }

export const createTables = () =>
  pool.query(`
    CREATE TABLE IF NOT EXISTS accounts (
      id text PRIMARY KEY,
      credits_posted bigint NOT NULL,
      debits_posted bigint NOT NULL DEFAULT 0,
      debits_pending bigint NOT NULL DEFAULT 0,
      CHECK (credits_posted - debits_posted - debits_pending >= 0)
    );
    CREATE TABLE IF NOT EXISTS holds (
      request_id text PRIMARY KEY,
      account_id text NOT NULL REFERENCES accounts,
      payg_pico bigint NOT NULL
    )`)

export interface Request {
  readonly id: string
  readonly account: string
  /** The number of prompt tokens. */
  readonly input: number
  /** The number of output tokens: the maximum for a hold, the actual number for a settlement. */
  readonly output: number
}

/** Holds the maximum cost of the request, or as much of this cost as the balance covers. */
export const hold = ({ account, id, input, output }: Request): Promise<Hold | InsufficientBalance | "request exists"> =>
  transaction(async (client) => {
    const payg = await lockAccount(client, "id = $1", account)
    const prompt = fromCount(input)
    const estimate = { inputFloor: prompt, inputCeiling: prompt, output: fromCount(output) }
    const decision = decideHold(estimate, price, { plan: undefined, payg })
    if (Either.isLeft(decision)) return decision.left
    const { hold, payg: after } = decision.right
    const values = [id, account, hold.paygPico]
    const { rowCount } = await client.query("INSERT INTO holds VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", values)
    if (rowCount === 0) return "request exists"
    await store(client, after)
    return hold
  })

/**
 * Releases the hold and debits the cost of the request. Only the transaction that deletes the hold's row settles, so a
 * request is settled once.
 */
export const settle = ({ id, input, output }: Omit<Request, "account">): Promise<Settlement | "no hold"> =>
  transaction(async (client) => {
    const payg = await lockAccount(client, "id = (SELECT account_id FROM holds WHERE request_id = $1)", id)
    if (payg === undefined) return "no hold"
    const { rows } = await client.query("DELETE FROM holds WHERE request_id = $1 RETURNING payg_pico", [id])
    if (rows.length === 0) return "no hold"
    const held = { planTokens: noTokens, paygPico: UsdPico(BigInt(rows[0].payg_pico)) }
    const usage = plain(fromCount(input), fromCount(output))
    const charge = { charged: usage, consumed: usage, source: "upstream" as const }
    const settled = decideSettlement(held, charge, price, { plan: undefined, payg })
    await store(client, settled.payg)
    return settled.settlement
  })

/** Runs `decide` in one transaction. After a failure, closes the connection, which rolls the transaction back. */
const transaction = async <A>(decide: (client: PoolClient) => Promise<A>): Promise<A> => {
  const client = await pool.connect()
  let failed = true
  try {
    await client.query("BEGIN")
    const result = await decide(client)
    await client.query("COMMIT")
    failed = false
    return result
  } finally {
    client.release(failed)
  }
}

/** Reads the account and locks its row until the transaction ends. */
const lockAccount = async (client: PoolClient, condition: string, value: string): Promise<PaygAccount | undefined> => {
  const { rows } = await client.query(`SELECT * FROM accounts WHERE ${condition} FOR UPDATE`, [value])
  const amount = (column: string) => UsdPico(BigInt(rows[0][column]))
  if (rows.length === 0) return undefined
  return {
    id: AccountId(rows[0].id),
    creditsPosted: amount("credits_posted"),
    debitsPosted: amount("debits_posted"),
    debitsPending: amount("debits_pending")
  }
}

const store = async (client: PoolClient, account: PaygAccount | undefined): Promise<void> => {
  if (account === undefined) return
  const values = [account.id, account.debitsPosted, account.debitsPending]
  await client.query("UPDATE accounts SET debits_posted = $2, debits_pending = $3 WHERE id = $1", values)
}
