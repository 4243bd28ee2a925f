import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { fromSocket } from "@tollgate/adapters-postgres/client/PgSettings"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { openHome } from "@tollgate/embedded-postgres/PostgresHome"
import { unprivilegedUser } from "@tollgate/embedded-postgres/UnprivilegedUser"
import { Effect, Exit, Option, Schedule, Scope } from "effect"
import * as Pg from "pg"
import { afterAll, beforeAll, describe } from "vitest"
import { bundled, type Program } from "../support/Bundle.ts"
import { clusterParent } from "../support/ClusterParent.ts"

const aTemporaryDirectory = () => mkdtempSync(join(clusterParent(), "tollgate-embedded-"))

// Creating the data files of Postgres is the slowest step, so they are created once, and each test copies them.
const template = aTemporaryDirectory()
beforeAll(() => Effect.runPromise(Effect.scoped(start(template))))
afterAll(() => rmSync(template, { recursive: true, force: true }))

const anEmptyDirectory = Effect.acquireRelease(Effect.sync(aTemporaryDirectory), (directory) =>
  Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)
const aDirectory = Effect.tap(anEmptyDirectory, (directory) =>
  Effect.sync(() => execFileSync("cp", ["-a", `${template}/.`, directory]))
)

const start = (directory: string) => EmbeddedPostgres.start({ directory })

/** Starts or joins Postgres until `release`. */
const startUntil = (directory: string) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const postgres = yield* Scope.extend(start(directory), scope)
    return { ...postgres, release: Scope.close(scope, Exit.void) }
  })

const NEED_POSTGRES: Program = { name: "need-postgres", entry: "test/support/programs/needPostgres.ts" }

/** Starts another process that uses Postgres, and collects the lines that the process prints. */
const aProgram = (directory: string, mode: "wait" | "write") =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(
        process.execPath,
        [await bundled(NEED_POSTGRES), directory, mode],
        // The process gets a separate process group, so that a test can send SIGINT to the group, as Ctrl-C does.
        { detached: true, stdio: ["ignore", "pipe", "inherit"] }
      )
      const lines: Array<string> = []
      child.stdout.on("data", (chunk) => lines.push(...String(chunk).trim().split("\n")))
      return { child, lines }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

const until = (condition: () => boolean) =>
  Effect.repeat(Effect.sync(condition), { until: (holds) => holds, schedule: Schedule.spaced("10 millis") })

const prints = (program: { readonly lines: ReadonlyArray<string> }, beginning: string) =>
  until(() => program.lines.some((line) => line.startsWith(beginning)))

const exited = (child: ChildProcess) => until(() => child.exitCode !== null || child.signalCode !== null)

const query = (socketDir: string, statement: string) =>
  Effect.promise(async () => {
    const client = new Pg.Client(fromSocket(socketDir))
    await client.connect()
    return client.query(statement).finally(() => client.end())
  })

/** Sets environment variables of this process until the scope ends. */
const withVariables = (variables: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const original = { ...process.env }
      Object.assign(process.env, variables)
      return original
    }),
    (original) =>
      Effect.sync(() => {
        for (const name of Object.keys(variables)) delete process.env[name]
        Object.assign(process.env, original)
      })
  )

const pidFile = (directory: string) => join(directory, "data", "postmaster.pid")
const isRunning = (directory: string) => existsSync(pidFile(directory))
const killPostmaster = (directory: string) =>
  process.kill(parseInt(readFileSync(pidFile(directory), "utf8"), 10), "SIGKILL")

describe("embedded Postgres", () => {
  it.scopedLive("keeps its data after a stop", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const first = yield* startUntil(directory)
      yield* query(first.socketDir, "CREATE TABLE kept AS SELECT 1 AS n")
      yield* first.release
      expect(isRunning(directory)).toBe(false)
      const second = yield* start(directory)
      expect((yield* query(second.socketDir, "SELECT n FROM kept")).rows).toEqual([{ n: 1 }])
      expect((yield* query(second.socketDir, "SHOW fsync")).rows).toEqual([{ fsync: "on" }])
    })
  )

  it.scopedLive.each([
    { PGPORT: "6543", PGSSLMODE: "require", PGSSLNEGOTIATION: "direct" },
    { PGOPTIONS: "-c no_such_setting=1" },
    { PGOPTIONS: "-c default_transaction_read_only=on" },
    { PGREPLICATION: "database" },
    { PGDATA: "/nowhere", PGHOST: "db.example", PGUSER: "ada", PGDATABASE: "books" }
  ])("needs no variable of the Postgres clients, and ignores %j", (variables) =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      yield* withVariables(variables as Readonly<Record<string, string>>)
      const { socketDir } = yield* Effect.timeout(start(directory), "20 seconds")
      yield* query(socketDir, "CREATE TABLE written ()")
      expect((yield* query(socketDir, "SHOW port")).rows).toEqual([{ port: "5432" }])
    })
  )

  it.scopedLive("is shared by concurrent starts in one directory", () =>
    Effect.gen(function* () {
      const directory = yield* anEmptyDirectory
      const all = yield* Effect.all([startUntil(directory), startUntil(directory), startUntil(directory)], {
        concurrency: "unbounded"
      })
      expect(all.map(({ joined }) => joined).sort()).toEqual([false, true, true])
      const [first, ...others] = [...all].sort((a, b) => (a.joined ? 1 : 0) - (b.joined ? 1 : 0))
      yield* first?.release ?? Effect.void
      for (const other of others) {
        yield* query(other.socketDir, "SELECT 1")
        yield* other.release
      }
      yield* until(() => !isRunning(directory))
    })
  )

  it.scopedLive("stops when the process that started it is killed", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const program = yield* aProgram(directory, "wait")
      yield* prints(program, "ready launched")
      program.child.kill("SIGKILL")
      yield* until(() => !isRunning(directory))
    })
  )

  it.scopedLive("outlives its first process while another process uses it", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const program = yield* aProgram(directory, "wait")
      yield* prints(program, "ready launched")
      const postgres = yield* startUntil(directory)
      expect(postgres.joined).toBe(true)
      program.child.kill("SIGKILL")
      yield* exited(program.child)
      yield* query(postgres.socketDir, "SELECT 1")
      yield* postgres.release
      yield* until(() => !isRunning(directory))
    })
  )

  it.scopedLive("does not receive Ctrl-C", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const program = yield* aProgram(directory, "wait")
      yield* prints(program, "ready launched")
      process.kill(-(program.child.pid ?? Number.NaN), "SIGINT")
      yield* prints(program, "interrupted")
      const postgres = yield* start(directory)
      expect(postgres.joined).toBe(true)
      program.child.kill("SIGTERM")
      yield* exited(program.child)
      expect(program.child.exitCode).toBe(0)
      yield* query(postgres.socketDir, "SELECT 1")
    })
  )

  it.scopedLive("keeps every acknowledged write of a killed process", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      for (const alsoPostgres of [false, true]) {
        const program = yield* aProgram(directory, "write")
        yield* until(() => program.lines.length > 30)
        if (alsoPostgres) killPostmaster(directory)
        program.child.kill("SIGKILL")
        yield* exited(program.child)
        const postgres = yield* startUntil(directory)
        const acknowledged = parseInt(program.lines.at(-1) ?? "", 10)
        const { rows } = yield* query(
          postgres.socketDir,
          "SELECT max(n) AS last, count(*)::int AS written FROM written"
        )
        expect(rows[0].last).toBeGreaterThanOrEqual(acknowledged)
        expect(rows[0].written).toBe(rows[0].last)
        yield* query(postgres.socketDir, "DROP TABLE written")
        yield* postgres.release
      }
    })
  )

  it.scopedLive("reports its unexpected exit to each user", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const launched = yield* startUntil(directory)
      const joined = yield* startUntil(directory)
      killPostmaster(directory)
      const reasons = yield* Effect.all([Effect.flip(launched.lost), Effect.flip(joined.lost)], { concurrency: 2 })
      for (const { message } of reasons) expect(message).toContain("exited while it was needed")
      expect((yield* start(directory)).joined).toBe(false)
    })
  )

  it.scopedLive("starts if its process id belongs to another Postgres", () =>
    Effect.gen(function* () {
      const other = yield* aDirectory
      const { lost } = yield* start(other)
      const directory = yield* aDirectory
      copyFileSync(pidFile(other), pidFile(directory))
      const postgres = yield* start(directory)
      expect(postgres.joined).toBe(false)
      expect((yield* query(postgres.socketDir, "SELECT 1 AS n")).rows).toEqual([{ n: 1 }])
      expect(yield* Effect.timeoutOption(Effect.flip(lost), "500 millis")).toEqual(Option.none())
    })
  )

  it.scopedLive("starts if the process id of its socket lock belongs to another Postgres", () =>
    Effect.gen(function* () {
      const other = yield* start(yield* aDirectory)
      const directory = yield* aDirectory
      const { release, socketDir } = yield* startUntil(directory)
      yield* release
      yield* until(() => !isRunning(directory) && !existsSync(socketDir))
      mkdirSync(socketDir, { mode: 0o700 })
      copyFileSync(join(other.socketDir, ".s.PGSQL.5432.lock"), join(socketDir, ".s.PGSQL.5432.lock"))
      const postgres = yield* start(directory)
      expect((yield* query(postgres.socketDir, "SELECT 1 AS n")).rows).toEqual([{ n: 1 }])
      expect((yield* query(other.socketDir, "SELECT 2 AS n")).rows).toEqual([{ n: 2 }])
    })
  )

  it.scopedLive("gives other users no access to its socket and files", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const { socketDir } = yield* start(directory)
      for (const path of [directory, socketDir, join(directory, "data")]) expect(statSync(path).mode & 0o077).toBe(0)
      expect((yield* query(socketDir, "SHOW listen_addresses")).rows).toEqual([{ listen_addresses: "" }])
    })
  )

  it.scopedLive("reports the reason when it cannot start", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const refused = EmbeddedPostgres.start({ directory, parameters: { max_connections: "many" } })
      expect((yield* Effect.flip(refused)).message).toMatch(/max_connections/)
    })
  )

  const asRoot = process.getuid?.() === 0

  it.runIf(asRoot)("runs for root in a private directory", () =>
    Effect.gen(function* () {
      const requested = yield* anEmptyDirectory
      const { socketDir } = yield* start(join(requested, "postgres"))
      yield* query(socketDir, "SELECT 1")
      expect(existsSync(join(requested, "postgres", "data", "PG_VERSION"))).toBe(true)
      expect(statSync(requested).mode & 0o777).toBe(0o710)
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  it.runIf(asRoot)("runs for root elsewhere if its user cannot reach the directory", () =>
    Effect.gen(function* () {
      const requested = join(yield* anEmptyDirectory, "requested")
      mkdirSync(requested, { mode: 0o700 })
      const elsewhere = () => readFileSync(join(requested, "postgres", "moved-to"), "utf8").trim()
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(elsewhere(), { recursive: true, force: true })))
      const { socketDir } = yield* start(join(requested, "postgres"))
      yield* query(socketDir, "SELECT 1")
      expect(existsSync(join(elsewhere(), "data", "PG_VERSION"))).toBe(true)
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  it.runIf(asRoot)("uses one directory elsewhere for concurrent starts", () =>
    Effect.gen(function* () {
      const requested = join(yield* anEmptyDirectory, "requested")
      mkdirSync(requested, { mode: 0o700 })
      const user = yield* unprivilegedUser
      const homes = yield* Effect.all(
        Array.from({ length: 30 }, () => openHome(join(requested, "postgres"), user)),
        { concurrency: "unbounded" }
      )
      const directories = [...new Set(homes.map((home) => home.directory))]
      expect(directories).toEqual([readFileSync(join(requested, "postgres", "moved-to"), "utf8").trim()])
      for (const directory of directories) rmSync(directory, { recursive: true, force: true })
    }).pipe(Effect.scoped, Effect.runPromise)
  )
})
