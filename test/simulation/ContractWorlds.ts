/**
 * Two databases for the same ledger transactions: real Postgres, and the model that the simulation uses.
 *
 * Each world records the statements of the ledger with the rows of the prepared statements or the SQLSTATE, so that the
 * worlds can be compared statement by statement. The rows are sorted, except those of statements that lock rows.
 */
import { SqlClient } from "@effect/sql"
import { PgSettings } from "@tollgate/adapters-postgres/client/PgSettings"
import { DedicatedConnection } from "@tollgate/adapters-postgres/ledger/DedicatedConnection"
import { saveCheckpoints } from "@tollgate/adapters-postgres/ledger/HoldRows"
import { type Driver, LedgerDriver, pgDriver } from "@tollgate/adapters-postgres/ledger/LedgerDriver"
import { LedgerTransactions } from "@tollgate/adapters-postgres/ledger/LedgerTransactions"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import type { Heartbeat, NodeId } from "@tollgate/application/operations/Nodes"
import { Effect, Scope } from "effect"
import * as Pg from "pg"
import { changeLimits, columnsOf, type LimitColumns } from "./database/CountedKeys.ts"
import { Database } from "./database/Database.ts"
import { Network } from "./database/ModelClient.ts"
import { type AccountRow, type Cell, type Execution, lock, type Transaction } from "./database/Rows.ts"
import { Random } from "./Random.ts"
import { withSimulatedTime } from "./ReplacedGlobals.ts"
import { Process, SimulatedTime } from "./SimulatedTime.ts"

export type Ledger = {
  readonly transactions: LedgerTransactions
  readonly checkpoint: (all: Parameters<typeof saveCheckpoints>[2]) => Promise<void>
}

/** A lock that another session holds. */
export interface HeldLock {
  /** Commits. If the locked row is an account, first adds the amount to its credits. */
  readonly release: (credits: bigint) => Promise<void>
}

/** The tables whose rows the ledger locks. */
export type LockedTable = "account" | "open_request" | "counted_key"

const ID_COLUMNS: Record<LockedTable, string> = { account: "id", open_request: "request_id", counted_key: "key_id" }

/** The time of day at which both databases read limited keys. */
export interface Clock {
  nowMillis: number
}

export interface World {
  readonly log: Array<string>
  readonly driver: Driver
  readonly step: <A>(work: () => Promise<A>) => Promise<A>
  /** Starts work while another session holds a lock, and then releases the lock. */
  readonly stepThatWaits: <A>(work: () => Promise<A>, held: HeldLock, credits: bigint) => Promise<A>
  readonly lock: (table: LockedTable, id: string) => Promise<HeldLock>
  readonly rows: () => Promise<string>
  readonly revoke: (keyId: string) => Promise<void>
  readonly limit: (keyId: string, limits: LimitColumns) => Promise<void>
}

export const ledgerOf = ({ driver }: World, nodeId: NodeId, settings: Pg.ClientConfig, lockMillis: number): Ledger => {
  const limits = { connectMillis: 10_000, transactionMillis: 20_000, lockMillis }
  const connections = [1, 2].map(() => new DedicatedConnection(settings, limits, driver))
  const [own, checkpoints] = connections as [DedicatedConnection, DedicatedConnection]
  return {
    transactions: new LedgerTransactions(nodeId, own),
    checkpoint: (all) => saveCheckpoints(checkpoints, nodeId, all)
  }
}

/** Returns the sweep of an operator, or of a node that has watched the heartbeats of others. */
export const sweepOf = (
  { driver }: World,
  settings: Pg.ClientConfig
): ((silent: ReadonlyArray<Heartbeat> | undefined) => Promise<number>) => {
  const noClient = { unsafe: () => Effect.dieMessage("the contract lists no holds") } as unknown as SqlClient.SqlClient
  const holds = Effect.runSync(
    PgOpenHolds.make().pipe(
      Effect.provideService(LedgerDriver, driver),
      Effect.provideService(PgSettings, settings),
      Effect.provideService(SqlClient.SqlClient, noClient),
      Effect.provideService(Scope.Scope, Effect.runSync(Scope.make()))
    )
  )
  return (silent) => Effect.runPromise(silent === undefined ? holds.sweep : holds.sweepSilent(silent))
}

/**
 * Returns a driver that records the statements of another driver, except those that open a connection, end a backend or
 * wait for a standby.
 */
const recorded = (driver: Driver, log: Array<string>, clock: Clock): Driver => ({
  open: (settings) => {
    const client = driver.open(settings)
    return {
      ...client,
      connect: () => client.connect(),
      on: (event, listener) => client.on(event, listener),
      destroy: () => client.destroy(),
      query: (query) => {
        const name = query.name ?? query.text.split(" ")[0] ?? ""
        const opens = /pg_backend_pid|statement_timeout|pg_logical_emit_message/.test(query.text)
        if (opens || name === "end_backend") return client.query(query)
        const entry = { name, result: "" }
        const at = log.push(name) - 1
        const finish = (result: string) => {
          log[at] = `${entry.name} ${result}`
        }
        return client.query(query).then(
          (response) => {
            if (name.endsWith("counted_keys")) for (const row of response.rows) row[COUNTED_KEY_NOW] = clock.nowMillis
            const rows = query.name === undefined ? [] : response.rows.map((row) => shown(comparable(name, row)))
            finish(name.startsWith("lock") ? rows.join(" ") : rows.sort().join(" "))
            return response
          },
          (error: unknown) => {
            finish(error instanceof Pg.DatabaseError ? `${error.code}` : `${error}`)
            throw error
          }
        )
      }
    }
  }
})

/** The column with the time at which a limited key was read. */
const COUNTED_KEY_NOW = 18
const WINDOW_BEGAN = 15

/** Returns a row without the beginning of the rate window, which depends on the duration of the steps. */
const comparable = (name: string, row: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  name.endsWith("counted_keys") ? row.filter((_, column) => column !== WINDOW_BEGAN) : row

export const shown = (value: unknown): string =>
  JSON.stringify(value, (_, member) => (typeof member === "bigint" ? `${member}` : member)) ?? "undefined"

/** Columns that both worlds have, in the order in which the model lists them. */
const ACCOUNTS = `SELECT id, user_id, model_id, credits_posted, debits_posted, debits_pending FROM account
  WHERE kind IN ('payg', 'plan') ORDER BY id`
const REQUESTS = `SELECT request_id, user_id, api_key_id, model_id, price_id, protocol, streamed, plan_account, plan_tokens,
  payg_account, payg_pico, node_id, checkpoint_input, checkpoint_output, key_pico, key_tokens, key_window FROM open_request ORDER BY request_id`
const COUNTED_KEYS = `SELECT key_id, revision, spend_per_day_usd_micro, spend_per_month_usd_micro, spend_total_usd_micro,
  requests_per_minute, tokens_per_minute, concurrent_requests, day::text, spent_in_day_pico, spent_in_month_pico,
  spent_total_pico, pending_pico, open_requests, window_number, 0, window_requests, window_tokens
  FROM counted_key ORDER BY key_id`
const SETTLEMENTS = `SELECT request_id, user_id, api_key_id, ending, usage_source,
  ARRAY[charged_input, charged_cache_write, charged_cache_read, charged_output]::text[],
  ARRAY[consumed_input, consumed_cache_write, consumed_cache_read, consumed_output]::text[],
  cost_pico, plan_account, plan_tokens, plan_value_pico, payg_account, payg_pico, writeoff_pico, streamed
  FROM settlement ORDER BY request_id`

export const postgresWorld = async (
  settings: Pg.ClientConfig,
  clock: Clock,
  limit: World["limit"],
  close: (end: () => Promise<void>) => void
): Promise<World> => {
  const connected = async () => {
    const client = new Pg.Client(settings)
    await client.connect()
    close(() => client.end())
    return client
  }
  const own = await connected()
  const other = await connected()
  const log: Array<string> = []
  const query = async (text: string) => (await own.query<Array<unknown>>({ text, rowMode: "array" })).rows
  const waits = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  return {
    log,
    limit,
    driver: recorded(pgDriver, log, clock),
    step: (work) => work(),
    stepThatWaits: async (work, held, credits) => {
      const result = work()
      let isOver = false
      const end = () => {
        isOver = true
      }
      result.then(end, end)
      while (!isOver && shown(await query(waits)) === '[["0"]]') await new Promise((resolve) => setTimeout(resolve, 2))
      await held.release(credits)
      return result
    },
    lock: async (table, id) => {
      await other.query("BEGIN")
      await other.query(`SELECT FROM ${table} WHERE ${ID_COLUMNS[table]} = $1 FOR UPDATE`, [id])
      return {
        release: async (credits) => {
          if (table === "account")
            await other.query("UPDATE account SET credits_posted = credits_posted + $2 WHERE id = $1", [
              id,
              `${credits}`
            ])
          await other.query("COMMIT")
        }
      }
    },
    rows: async () => {
      const tables = [await query(ACCOUNTS), await query(REQUESTS), await query(SETTLEMENTS), await query(COUNTED_KEYS)]
      return tables.map((rows) => rows.map(shown).join("\n")).join("\n\n")
    },
    revoke: async (keyId) => {
      await own.query("UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = $1", [keyId])
    }
  }
}

export interface ModelWorld extends World {
  readonly database: Database
}

export const modelWorld = (seed: number, clock: Clock): ModelWorld => {
  const time = new SimulatedTime(new Random(seed))
  const database = new Database(time)
  database.timeOfDayMillis = Date.now()
  const process = new Process("node", 1)
  const log: Array<string> = []
  const run = async (isOver: () => boolean, millis: number) => {
    await withSimulatedTime({ current: time }, () => time.run(time.now + millis, isOver, () => {}))
  }
  const started = <A>(work: () => Promise<A>) => {
    const state: { isOver: boolean; result: Promise<A> | undefined } = { isOver: false, result: undefined }
    time.after(0, process, () => {
      state.result = work()
      const end = () => {
        state.isOver = true
      }
      state.result.then(end, end)
    })
    return state
  }
  const finished = async <A>(state: { isOver: boolean; result: Promise<A> | undefined }): Promise<A> => {
    await run(() => state.isOver, 60_000)
    if (!state.isOver || state.result === undefined) throw new Error("the step does not end in the model")
    return state.result
  }
  return {
    database,
    log,
    driver: recorded(new Network(database, process, 1).driver("ledger"), log, clock),
    step: (work) => finished(started(work)),
    stepThatWaits: async (work, held, credits) => {
      const state = started(work)
      await run(() => state.isOver, 300)
      await held.release(credits)
      return finished(state)
    },
    lock: async (table, id) => {
      const tables = { account: database.accounts, open_request: database.requests, counted_key: database.countedKeys }
      const cell: Cell<unknown> = tables[table].cell(id)
      if (cell.committed === undefined) return { release: async () => {} }
      const held: { transaction?: Transaction } = {}
      database.runElsewhere("other", function* (transaction): Execution<boolean> {
        yield* lock<unknown>(transaction, cell)
        held.transaction = transaction
        yield 1e9
        return false
      })
      return {
        release: async (credits) => {
          const row = cell.written as AccountRow | undefined
          if (table === "account" && row !== undefined)
            cell.written = { ...row, credits: row.credits + credits } as never
          held.transaction?.commit()
        }
      }
    },
    rows: async () => {
      const byId = <R>(rows: Iterable<R>, id: (row: R) => string) => [...rows].sort((a, b) => (id(a) < id(b) ? -1 : 1))
      const accounts = byId(database.accounts.rows(), ({ id }) => id).map((row) => shown(Object.values(row)))
      const requests = byId(database.requests.rows(), (row) => row.requestId).map((row) => shown(Object.values(row)))
      const settlements = byId(database.settlements.rows(), (row) => row.requestId).map(({ writtenBy: _, ...row }) =>
        shown(Object.values(row))
      )
      const keys = byId(database.countedKeys.rows(), ({ keyId }) => keyId).map((row) =>
        shown(columnsOf({ ...row, windowBeganAt: 0 }))
      )
      return [accounts, requests, settlements, keys].map((rows) => rows.join("\n")).join("\n\n")
    },
    limit: async (keyId, limits) => {
      const state = { isOver: false }
      database.runElsewhere("limits", function* (transaction): Execution<boolean> {
        const commits = yield* changeLimits(database, transaction, keyId, limits, 1)
        state.isOver = true
        return commits
      })
      await run(() => state.isOver, 1_000)
    },
    revoke: async (keyId) => {
      const key = database.keys.get(keyId)
      if (key !== undefined) key.valid = false
    }
  }
}
