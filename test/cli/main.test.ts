import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { migrations } from "@tollgate/adapters-postgres/migrations/Migrations"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Schedule } from "effect"
import * as Pg from "pg"
import * as TestDatabase from "../support/TestDatabase.ts"
import { documentOf, start, startInto } from "./CommandLine.ts"

const connect = (settings: Pg.ClientConfig) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Pg.Client(settings)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

const aDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "tollgate-cli-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

// A process takes one or two seconds to start, and longer while many tests run.
describe("tollgate as a process", () => {
  it.scopedLive("credits once when two processes run the same command", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      const environment = { DATABASE_URL: database.url }
      const created = yield* start(environment, "users", "create", "ada@example.com", "--json").printed
      expect(created).toMatchObject({ code: 0, stderr: "" })
      expect(documentOf(created)).toMatchObject({ email: "ada@example.com" })

      const credit = "payg credit --user ada@example.com --usd-micro 7 --operation-id x --reason y --json".split(" ")
      const both = [start(environment, ...credit), start(environment, ...credit)]
      const printed = yield* Effect.all(both.map((running) => running.printed))
      const applied = printed.map((one) => documentOf(one) as { already_applied: boolean; payg: { balance: string } })
      expect(printed.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
        { code: 0, stderr: "" },
        { code: 0, stderr: "" }
      ])
      expect(applied.map(({ already_applied }) => already_applied).sort()).toEqual([false, true])
      expect(applied.map(({ payg }) => payg.balance)).toEqual(["0.000007", "0.000007"])
    })
  )

  it.scopedLive("exits with 3 when a business rule refuses the command, and with 2 without a confirmation", () =>
    Effect.gen(function* () {
      const environment = { DATABASE_URL: (yield* TestDatabase.make()).url }
      const [refused, unconfirmed] = yield* Effect.all([
        start(environment, "users", "show", "unknown@example.com").printed,
        start(environment, "keys", "revoke", "01890000-0000-7000-8000-000000000000").printed
      ])
      expect(refused).toMatchObject({ code: 3, stdout: "" })
      expect(unconfirmed).toMatchObject({ code: 2, stdout: "" })
    })
  )

  it.scopedLive.skipIf(!existsSync("/dev/full"))("fails if its output cannot be written", () =>
    Effect.gen(function* () {
      const environment = { DATABASE_URL: (yield* TestDatabase.make()).url }
      yield* start(environment, "users", "create", "ada@example.com").printed
      for (const command of ["keys create --user ada@example.com --name x", "usage export --user ada@example.com"]) {
        const printed = yield* startInto("/dev/full", environment, ...command.split(" ")).printed
        expect(printed, command).toMatchObject({ code: 1, stderr: expect.stringContaining("ENOSPC") })
        expect(printed.stderr, command).toContain("The output is incomplete, but the command ran")
      }
      const refused = yield* startInto("/dev/full", environment, "users", "show", "unknown@example.com", "--json")
        .printed
      expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("The output is incomplete") })
    })
  )

  it.scopedLive("ends its statement in the database after Ctrl-C", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      const [blocker, watcher] = [yield* connect(database.settings), yield* connect(database.settings)]
      // The lock must outlast the start of the process, which can be longer than the idle limit of a transaction.
      yield* Effect.promise(() =>
        blocker.query("SET idle_in_transaction_session_timeout = 0; BEGIN; LOCK TABLE account")
      )
      const waiting = Effect.promise(() =>
        watcher.query(
          "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
      )
      const running = start({ DATABASE_URL: database.url }, "audit", "--json")
      yield* Effect.repeat(waiting, { until: ({ rowCount }) => rowCount === 1, schedule: Schedule.spaced("20 millis") })
      running.signal("SIGINT")
      expect(yield* running.printed).toMatchObject({ code: 130, stdout: "" })
      yield* Effect.repeat(waiting, { until: ({ rowCount }) => rowCount === 0, schedule: Schedule.spaced("20 millis") })
    })
  )

  it.scopedLive("starts the embedded Postgres or joins a running one", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const environment = { DATA_DIR: directory }
      const created = yield* start(environment, "users", "create", "ada@example.com").printed
      expect(created.code, created.stderr).toBe(0)
      expect(created.stderr).toBe(
        `Applied migrations to the embedded Postgres: ${migrations.map(({ name }) => name).join(", ")}\n`
      )
      expect(readdirSync(directory)).toEqual(["postgres"])

      // This process runs Postgres, so the command joins it and must not stop it.
      const running = yield* EmbeddedPostgres.start({ directory: join(directory, "postgres"), durable: false })
      expect(running.joined).toBe(false)
      const key = yield* start(environment, "keys", "create", "--user", "ada@example.com", "--name", "x", "--json")
        .printed
      expect(key.code, key.stderr).toBe(0)
      const { secret } = documentOf(key) as { secret: string }
      expect(secret).toMatch(/^tg_/)
      expect(readdirSync(directory).sort()).toEqual(["key-pepper", "postgres"])
      const client = yield* connect({ host: running.socketDir, user: "postgres", database: "postgres" })
      const { rows } = yield* Effect.promise(() => client.query("SELECT name FROM api_key"))
      expect(rows).toEqual([{ name: "x" }])
    })
  )
})
