/**
 * Tests that a start removes the folders of clusters whose creation was killed, and no folder that a process uses.
 */
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Schedule } from "effect"
import { describe } from "vitest"
import { bundled } from "../support/Bundle.ts"
import { clusterParent } from "../support/ClusterParent.ts"

const aDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(clusterParent(), "tollgate-cluster-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
)

const startOnce = (directory: string) => Effect.scoped(EmbeddedPostgres.start({ directory }))

const unfinished = (directory: string) => readdirSync(directory).filter((name) => /^(data|new)-/.test(name))

/** Returns the ids of the processes whose command line contains this text. */
const processesOf = (text: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text)
      } catch {
        return false
      }
    })
    .map(Number)

const until = (condition: () => boolean) =>
  Effect.repeat(Effect.sync(condition), { until: (holds) => holds, schedule: Schedule.spaced("5 millis") })

/** Kills a process while it creates a cluster in the directory. `inInitdb` runs before, with the process ids. */
const killedDuringInitdb = (directory: string, inInitdb: (processes: ReadonlyArray<number>) => void = () => {}) =>
  Effect.gen(function* () {
    const entry = yield* Effect.promise(() =>
      bundled({ name: "need-postgres", entry: "test/support/programs/needPostgres.ts" })
    )
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, [entry, directory, "wait"], { stdio: "ignore" })),
      (process) => Effect.sync(() => process.kill("SIGKILL"))
    )
    yield* until(() => processesOf(`${directory}/data-`).length > 0)
    inInitdb(processesOf(`${directory}/data-`))
    child.kill("SIGKILL")
    yield* until(() => child.signalCode !== null)
  })

const signalAll = (signal: NodeJS.Signals) => (pids: ReadonlyArray<number>) => {
  for (const pid of pids) process.kill(pid, signal)
}

describe("the creation of a cluster", () => {
  it.scopedLive("leaves no folder after the next start if its process was killed", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      yield* killedDuringInitdb(directory)
      yield* until(() => processesOf(`${directory}/data-`).length === 0)
      expect(unfinished(directory)).toHaveLength(1)
      yield* startOnce(directory)
      expect(unfinished(directory)).toEqual([])
    })
  )

  it.scopedLive("keeps its folder while its initdb runs, although its process was killed", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      yield* killedDuringInitdb(directory, signalAll("SIGSTOP"))
      const [folder = ""] = unfinished(directory)
      yield* Effect.addFinalizer(() => Effect.sync(() => signalAll("SIGKILL")(processesOf(join(directory, folder)))))
      const before = readdirSync(join(directory, folder))
      yield* startOnce(directory)
      expect(unfinished(directory)).toEqual([folder])
      expect(readdirSync(join(directory, folder))).toEqual(before)
      signalAll("SIGCONT")(processesOf(join(directory, folder)))
      yield* until(() => processesOf(join(directory, folder)).length === 0)
      yield* startOnce(directory)
      expect(unfinished(directory)).toEqual([])
    })
  )

  it.scopedLive("leaves no folder of a release that created no lifeline, after a day", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      yield* startOnce(directory)
      const [old, recent] = ["data-11111111-1111-4111-8111-111111111111", "data-22222222-2222-4222-8222-222222222222"]
      const draft = "new-33333333-3333-4333-8333-333333333333"
      const home = "data-44444444-4444-4444-8444-444444444444"
      mkdirSync(join(directory, home, "data"), { recursive: true })
      const twoDaysAgo = new Date(Date.now() - 2 * 86_400_000)
      for (const name of [old, recent, draft, home, "data-backup"]) {
        mkdirSync(join(directory, name), { recursive: true })
        writeFileSync(join(directory, name, "PG_VERSION"), "18\n")
        if (name !== recent) utimesSync(join(directory, name), twoDaysAgo, twoDaysAgo)
      }
      yield* startOnce(directory)
      expect(unfinished(directory).sort()).toEqual([recent, home, "data-backup"])
    })
  )
})
