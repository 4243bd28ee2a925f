/**
 * The synchronous standby of the primary does not respond, so commits wait for it. A transaction whose wait is ended
 * must not be read as committed.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fromSocket } from "@tollgate/adapters-postgres/client/PgSettings"
import { ConnectionLost } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import { DedicatedConnection } from "@tollgate/adapters-postgres/ledger/DedicatedConnection"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Exit, Scope } from "effect"
import * as Pg from "pg"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { clusterParent } from "../../support/ClusterParent.ts"

const limits = { connectMillis: 500, transactionMillis: 500, lockMillis: 200 }
const WRITE = { name: "write_note", text: "INSERT INTO note (word) VALUES ($1)" }
const MAX_WRITES = 100_000
const READ = { name: "read_notes", text: "SELECT word FROM note ORDER BY word" }

const directory = mkdtempSync(join(clusterParent(), "tollgate-replication-"))
const scope = Effect.runSync(Scope.make())
let settings: Pg.ClientConfig
let connection: DedicatedConnection

/** Runs statements on a separate connection, each outside a transaction. */
const administer = async (...statements: ReadonlyArray<string>): Promise<void> => {
  const client = new Pg.Client(settings)
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

/** Sets the names of the standbys for which commits wait. No standby with such a name connects. */
const useStandbys = (names: string) =>
  administer(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`, "SELECT pg_reload_conf()")

beforeAll(async () => {
  const started = EmbeddedPostgres.start({ directory: join(directory, "postgres") })
  settings = fromSocket((await Effect.runPromise(Scope.extend(started, scope))).socketDir)
  await administer("CREATE TABLE note (word text PRIMARY KEY)")
  connection = new DedicatedConnection(settings, limits)
  // Opens the connection while no standby is required. Otherwise the opening would wait for the standby too.
  await read()
})
afterAll(async () => {
  connection.close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(directory, { recursive: true, force: true })
})

const write = (word: string, onUnknownCommit: (word: string) => void): Promise<string> =>
  connection.transact(async () => ({ result: word, write: { statement: WRITE, values: [word] } }), onUnknownCommit)

const read = (): Promise<ReadonlyArray<unknown>> =>
  connection.transact(async (query) => ({ result: (await query(READ, [])).flat(), write: undefined }))

it("a dedicated connection does not read a commit that waits for the standby", async () => {
  await useStandbys("absent")
  const unknown: Array<string> = []
  // Postgres reads changed settings only some time after pg_reload_conf(). Until then, commits do not wait.
  for (let nth = 0; unknown.length === 0 && nth < MAX_WRITES; nth++) {
    await write(`word ${nth}`, (word) => unknown.push(word)).catch((error: unknown) =>
      expect(error).toBeInstanceOf(ConnectionLost)
    )
  }
  expect(unknown).toHaveLength(1)
  // The second attempt terminates the backend of the first attempt, which waits for the standby too.
  for (const _ of [1, 2]) await expect(read()).rejects.toBeInstanceOf(ConnectionLost)

  await useStandbys("")
  const words = await vi.waitFor(read, { timeout: 60_000, interval: 20 })
  expect(words).toEqual(expect.arrayContaining(unknown))
})
