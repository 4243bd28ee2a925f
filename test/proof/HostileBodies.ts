/**
 * Sends hostile bodies of 31 MiB to the built server, three at the same time. Measures the effects: the memory of the
 * server, the longest wait for `/healthz`, and the latency of another customer's chats.
 *
 *     node --conditions=source --import tsx test/proof/HostileBodies.ts [--heap-mib 1024] [--funded]
 *
 * Exits with 1 if a limit is exceeded or a chat of the other customer is refused. With `--funded`, the attacker has a
 * balance, so its bodies are read; the program then prints whether the limits are met, but does not exit with 1.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent, request as httpRequest } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Exit, Scope } from "effect"
import * as Pg from "pg"
import { startBenchProcess } from "../bench/BenchProcess.ts"
import { residentKib } from "../bench/ProcessFigures.ts"
import { startTollgate } from "../bench/Tollgate.ts"
import { recordFigures } from "../support/Figures.ts"
import { readProgram, wholeNumber } from "../support/Program.ts"
import { ChatProbe } from "./ChatProbe.ts"

const MAX_GROWTH_MIB = 200
const MAX_HEALTH_MILLIS = 100
const MAX_P99_FACTOR = 2
const QUIET_MILLIS = 20_000
/** Ten shapes are sent for four seconds each. */
const ATTACK_MILLIS = 40_000

const { values } = readProgram({ "heap-mib": wholeNumber("MIB", 1), funded: "flag" })

const directory = mkdtempSync(join(tmpdir(), "tollgate-hostile-"))
const upstream = await startBenchProcess<number>("MockUpstream.ts", undefined)
const heap = values["heap-mib"]
const tollgate = await startTollgate(upstream.ready, directory, {
  nodeFlags: heap === undefined ? [] : [`--max-old-space-size=${heap}`]
})
const [attacker = "", other = ""] = tollgate.keys
const agent = new Agent({ keepAlive: true })

const healthMillis = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const since = performance.now()
    const request = httpRequest({ host: "127.0.0.1", port: tollgate.port, path: "/healthz", agent }, (response) => {
      response.on("end", () => resolve(performance.now() - since)).resume()
    })
    request.on("error", reject)
    request.end()
  })

const watchServer = () => {
  let isOver = false
  let longestMillis = 0
  let peakKib = 0
  const watching = (async () => {
    while (!isOver) {
      longestMillis = Math.max(longestMillis, await healthMillis())
      peakKib = Math.max(peakKib, residentKib(tollgate.pids))
      await sleep(5)
    }
  })()
  return async () => {
    isOver = true
    await watching
    return { healthMillis: longestMillis, peakKib }
  }
}

/** Runs the process that sends the hostile bodies. Returns the statuses of each shape. */
const attackOf = async (): Promise<Readonly<Record<string, string>>> => {
  const client = fork(join(import.meta.dirname, "HostileClient.ts"), [String(tollgate.port), attacker], {
    execArgv: process.execArgv
  })
  const [statuses] = await once(client, "message")
  return statuses as Readonly<Record<string, string>>
}

const removeFundsOfAttacker = async (): Promise<void> => {
  const scope = Effect.runSync(Scope.make())
  const { socketDir } = await Effect.runPromise(
    Scope.extend(EmbeddedPostgres.start({ directory: join(directory, "postgres") }), scope)
  )
  const client = new Pg.Client(PgSettings.fromSocket(socketDir))
  await client.connect()
  const publicId = attacker.split("_")[1]
  await client.query(
    `UPDATE account SET debits_posted = credits_posted
     WHERE user_id = (SELECT user_id FROM api_key WHERE public_id = $1)`,
    [publicId]
  )
  await client.end()
  await Effect.runPromise(Scope.close(scope, Exit.void))
}

try {
  if (!values.funded) await removeFundsOfAttacker()
  const warmUp = new ChatProbe(tollgate.port, other)
  await warmUp.during("quiet", QUIET_MILLIS / 4)
  warmUp.close()
  const baseKib = residentKib(tollgate.pids)

  const chats = new ChatProbe(tollgate.port, other)
  const endQuiet = watchServer()
  await chats.during("quiet", QUIET_MILLIS)
  const quiet = await endQuiet()

  const endAttacked = watchServer()
  const [statuses] = await Promise.all([attackOf(), chats.during("attack", ATTACK_MILLIS)])
  const rows = Object.entries(statuses)
  const attacked = await endAttacked()
  chats.close()
  const refused = chats.sent("attack") - chats.served("attack")

  const growthMib = (attacked.peakKib - baseKib) / 1024
  const factor = chats.p99Millis("attack") / chats.p99Millis("quiet")
  const figures = {
    "MiB of memory growth at most": growthMib.toFixed(0),
    "ms for /healthz at most, quiet": quiet.healthMillis.toFixed(0),
    "ms for /healthz at most, under attack": attacked.healthMillis.toFixed(0),
    "ms p99 of other chats, quiet": chats.p99Millis("quiet").toFixed(1),
    "ms p99 of other chats, under attack": chats.p99Millis("attack").toFixed(1),
    "other chats sent under attack": chats.sent("attack"),
    "other chats refused": refused
  }
  for (const [name, statuses] of rows) console.log(`${name.padEnd(38)} ${statuses}`)
  console.log("")
  for (const [name, value] of Object.entries(figures)) console.log(`${String(value).padStart(8)} ${name}`)
  recordFigures(figures)
  const isMet =
    growthMib < MAX_GROWTH_MIB && attacked.healthMillis < MAX_HEALTH_MILLIS && factor <= MAX_P99_FACTOR && refused === 0
  console.log(isMet ? "met" : "NOT met")
  if (!isMet && !values.funded) process.exitCode = 1
} finally {
  agent.destroy()
  await tollgate.stop()
  await upstream.stop()
  rmSync(directory, { recursive: true, force: true })
}
