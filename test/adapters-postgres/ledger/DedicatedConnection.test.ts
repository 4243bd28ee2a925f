import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { ConnectionLost } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import {
  type BoundStatement,
  type ConnectionLimits,
  DedicatedConnection
} from "@tollgate/adapters-postgres/ledger/DedicatedConnection"
import { Effect } from "effect"
import type * as Pg from "pg"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { Cable } from "../client/Cable.ts"
import { terminateLedgers } from "./Customers.ts"

const limits: ConnectionLimits = { connectMillis: 5_000, transactionMillis: 5_000, lockMillis: 5_000 }

const opened = (settings: Pg.ClientConfig, changes: Partial<ConnectionLimits> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => new DedicatedConnection(settings, { ...limits, ...changes })),
    (connection) => Effect.sync(() => connection.close())
  )

const aConnection = Effect.flatMap(TestDatabase.TestDatabase, ({ settings }) => opened(settings))

const wired = (changes: Partial<ConnectionLimits> = {}) =>
  Effect.gen(function* () {
    const cable = yield* Cable.scoped((yield* TestDatabase.TestDatabase).settings)
    return { cable, connection: yield* opened(cable.settings, changes) }
  })

const note = (...words: ReadonlyArray<string>): BoundStatement => ({
  statement: { name: "write_notes", text: "INSERT INTO note (word) SELECT unnest($1::text[])" },
  values: [words]
})
const writing =
  (...words: ReadonlyArray<string>) =>
  async () => ({ result: words.length, write: words.length > 0 ? note(...words) : undefined })

const lockAll = { name: "lock_all", text: "SELECT word FROM note FOR UPDATE" }

const words = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql<{ word: string }>`SELECT word FROM note ORDER BY word`).map(({ word }) => word)
})

/** Returns the error of an attempt that must fail, and the results that the attempt passed to `onUnknownCommit`. */
const failing = <A>(attempt: (onUnknownCommit: (result: A) => void) => Promise<unknown>) =>
  Effect.promise(async () => {
    const unknown: Array<A> = []
    try {
      await attempt((result) => unknown.push(result))
    } catch (error) {
      return { error, unknown }
    }
    throw new Error("the transaction did not fail")
  })

describe("a dedicated connection", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    const prepared = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE IF NOT EXISTS note (word text PRIMARY KEY CHECK (word <> 'forbidden'))`
      yield* sql`TRUNCATE note`
    })

    it.scoped("writes a transaction completely or not at all", () =>
      Effect.gen(function* () {
        yield* prepared
        const connection = yield* aConnection
        expect(yield* Effect.promise(() => connection.transact(writing("a", "b")))).toBe(2)
        const refused = yield* failing((onUnknownCommit: (n: number) => void) =>
          connection.transact(writing("c", "forbidden"), onUnknownCommit)
        )
        expect(refused).toMatchObject({ error: { code: "23514" }, unknown: [] })
        const thrown = yield* failing(() =>
          connection.transact(async (query) => {
            await query(note("d").statement, [["d"]])
            throw new RangeError("decided otherwise")
          })
        )
        expect(thrown.error).toBeInstanceOf(RangeError)
        yield* Effect.promise(() => connection.transact(writing("e")))
        expect(yield* words).toEqual(["a", "b", "e"])
      })
    )

    it.scoped("reports the first error when a later statement is awaited first", () =>
      Effect.gen(function* () {
        yield* prepared
        const [connection, other] = [
          yield* aConnection,
          yield* opened((yield* TestDatabase.TestDatabase).settings, { lockMillis: 20 })
        ]
        yield* Effect.promise(() => connection.transact(writing("kept")))
        const refused = yield* failing(() =>
          connection.transact(async (query) => {
            await query(lockAll, [])
            const refusedLock = other.transact(async (query) => {
              const [first, second] = [query(lockAll, []), query({ name: "one", text: "SELECT 1" }, [])]
              first.catch(() => {})
              return { result: await second, write: undefined }
            })
            return { result: await refusedLock, write: undefined }
          })
        )
        expect(refused).toMatchObject({ error: { code: "55P03" } })
        expect(yield* Effect.promise(() => other.transact(writing("free")))).toBe(1)
      })
    )

    it.scoped("reconnects after its backend was terminated", () =>
      Effect.gen(function* () {
        yield* prepared
        const connection = yield* aConnection
        yield* Effect.promise(() => connection.transact(writing("before")))
        expect(yield* terminateLedgers).toBe(1)
        yield* Effect.retry(
          Effect.tryPromise(() => connection.transact(writing("after"))),
          { times: 1 }
        )
        expect(yield* words).toEqual(["after", "before"])
      })
    )

    it.scoped("refuses a write while another session locks the row", () =>
      Effect.gen(function* () {
        yield* prepared
        const [connection, other] = [yield* aConnection, yield* aConnection]
        const rename = { statement: { name: "write_over", text: "UPDATE note SET word = 'b'" }, values: [] }
        yield* Effect.promise(() => connection.write(note("a"), () => {}))
        const refused = yield* failing((onUnknownCommit: (n: number) => void) =>
          other.transact(async (query) => {
            await query(lockAll, [])
            return { result: await connection.write(rename, () => onUnknownCommit(0)), write: undefined }
          })
        )
        expect(refused).toMatchObject({ error: { code: "55P03" }, unknown: [] })
        yield* Effect.promise(() => connection.write(rename, () => {}))
        expect(yield* words).toEqual(["b"])
      })
    )

    for (const [fault, written] of [
      ["commit lost", []],
      ["response lost", ["maybeCommitted"]]
    ] as const) {
      it.scoped(`reports an unknown commit outcome of a single statement (${fault})`, () =>
        Effect.gen(function* () {
          yield* prepared
          const { cable, connection } = yield* wired()
          yield* Effect.promise(() => connection.transact(writing()))
          void cable.atNextCommit(fault)
          const lost = yield* failing((onUnknownCommit: (n: number) => void) =>
            connection.write(note("maybeCommitted"), () => onUnknownCommit(1))
          )
          expect(lost.error).toBeInstanceOf(ConnectionLost)
          expect(lost.unknown).toEqual([1])
          yield* Effect.promise(() => connection.transact(writing()))
          expect(yield* words).toEqual(written)
        })
      )
    }

    for (const [fault, written] of [
      ["commit lost", []],
      ["response lost", ["maybeCommitted"]]
    ] as const) {
      it.scoped(`reports an unknown commit outcome of a transaction (${fault})`, () =>
        Effect.gen(function* () {
          yield* prepared
          const { cable, connection } = yield* wired()
          yield* Effect.promise(() => connection.transact(writing()))
          void cable.atNextCommit(fault)
          const lost = yield* failing((onUnknownCommit: (n: number) => void) =>
            connection.transact(writing("maybeCommitted"), onUnknownCommit)
          )
          expect(lost.error).toBeInstanceOf(ConnectionLost)
          expect(lost.unknown).toEqual([1])
          yield* Effect.promise(() => connection.transact(writing()))
          expect(yield* words).toEqual(written)
        })
      )
    }

    it.scoped("stops waiting for an unresponsive database at the timeout", () =>
      Effect.gen(function* () {
        yield* prepared
        const { cable, connection } = yield* wired({ transactionMillis: 200, connectMillis: 200 })
        const write = (word: string) =>
          Effect.retry(
            Effect.tryPromise(() => connection.transact(writing(word))),
            { times: 20 }
          )
        yield* write("before")
        cable.freeze()
        // The first attempt uses the open connection, and the second attempt uses a new connection.
        for (const _ of [1, 2]) {
          const { error, unknown } = yield* Effect.timeout(
            failing((onUnknownCommit: (n: number) => void) => connection.transact(writing("never"), onUnknownCommit)),
            2_000
          )
          expect(error).toBeInstanceOf(ConnectionLost)
          expect(unknown).toEqual([])
        }
        cable.mend()
        yield* write("after")
        expect(yield* words).toEqual(["after", "before"])
      })
    )

    it.scoped("terminates the backend of the previous connection before a transaction begins", () =>
      Effect.gen(function* () {
        yield* prepared
        const { cable, connection } = yield* wired()
        yield* Effect.promise(() => connection.transact(writing("contested")))
        const happened = cable.atNextCommit("commit stuck")
        const stuck = connection.transact(async (query) => ({ result: await query(lockAll, []), write: undefined }))
        yield* Effect.promise(() => happened)
        connection.cut()
        yield* failing(() => stuck)
        const locked = connection.transact(async (query) => ({ result: await query(lockAll, []), write: undefined }))
        expect(
          yield* Effect.timeout(
            Effect.promise(() => locked),
            2_000
          )
        ).toEqual([["contested"]])
      })
    )
  })
})
