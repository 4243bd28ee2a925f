/**
 * Sends hostile bodies of 31 MiB to the built server, three at once, and measures the effect on others: the memory of
 * the server, the longest wait for `/healthz`, and the latency of other customers' chats.
 *
 *     node --conditions=source --import tsx test/proof/HostileBodies.ts [--heap-mib 1024] [--funded]
 *
 * Exits with 1 if a limit is exceeded. With `--funded`, the attacker has a balance, so its bodies are read; the limits are
 * then only printed.
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent, request as httpRequest } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Exit, Scope } from "effect"
import * as Pg from "pg"
import { MODEL } from "../bench/BenchRequest.ts"
import { residentKib } from "../bench/ProcessFigures.ts"
import { startTollgate } from "../bench/Tollgate.ts"
import { recordFigures } from "../support/Figures.ts"
import { ScriptedUpstream } from "../support/ScriptedUpstream.ts"
import { asPlayed, played } from "../support/upstream/Play.ts"

const MAX_GROWTH_MIB = 200
const MAX_HEALTH_MILLIS = 100
const MAX_P99_FACTOR = 2
const QUIET_MILLIS = 20_000
const CHAT_PAUSE_MILLIS = 25

const { values } = parseArgs({
  options: { "heap-mib": { type: "string" }, funded: { type: "boolean", default: false } }
})

const CHAT = "/v1/chat/completions"

const directory = mkdtempSync(join(tmpdir(), "tollgate-hostile-"))
const upstream = await ScriptedUpstream.start()
upstream.always(asPlayed())
const heap = values["heap-mib"]
const tollgate = await startTollgate(Number(new URL(upstream.baseUrl).port), directory, {
  nodeFlags: heap === undefined ? [] : [`--max-old-space-size=${heap}`]
})
const [attacker = "", ...others] = tollgate.keys
const agent = new Agent({ keepAlive: true })

interface Reply {
  readonly status: number
  readonly millis: number
}

const send = (method: string, path: string, key: string, body = ""): Promise<Reply> =>
  new Promise((resolve) => {
    const since = performance.now()
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body)
    }
    const end = (status: number) => resolve({ status, millis: performance.now() - since })
    const request = httpRequest(
      { host: "127.0.0.1", port: tollgate.port, method, path, headers, agent },
      (response) => {
        response.on("end", () => end(response.statusCode ?? 0))
        response.on("error", () => end(response.statusCode ?? 0))
        response.resume()
      }
    )
    request.on("error", () => end(0))
    request.end(body)
  })

const chatBody = JSON.stringify({
  model: MODEL,
  messages: [{ role: "user", content: "Hi" }],
  ...played({ deltas: 10 })
})

/** The measurements of one phase. */
class Phase {
  readonly #chats: Array<number> = []
  refused = 0
  healthMillis = 0
  peakKib = 0
  #over = false
  readonly #work: ReadonlyArray<Promise<void>>

  constructor() {
    this.#work = [
      this.#each(0, async () => {
        this.healthMillis = Math.max(this.healthMillis, (await send("GET", "/healthz", "")).millis)
        this.peakKib = Math.max(this.peakKib, residentKib(tollgate.pids))
      }),
      ...others.map((key) =>
        this.#each(CHAT_PAUSE_MILLIS, async () => {
          const { status, millis } = await send("POST", CHAT, key, chatBody)
          if (status === 200) this.#chats.push(millis)
          else this.refused += 1
          upstream.requests.splice(0)
        })
      )
    ]
  }

  async #each(pauseMillis: number, work: () => Promise<void>): Promise<void> {
    while (!this.#over) {
      await work()
      await sleep(Math.max(5, pauseMillis))
    }
  }

  async end(): Promise<void> {
    this.#over = true
    await Promise.all(this.#work)
  }

  get p99Millis(): number {
    const sorted = this.#chats.toSorted((a, b) => a - b)
    return sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY
  }
}

/** The process that sends the hostile bodies. It reports the statuses of each shape, by name. */
const attackOf = async (): Promise<Readonly<Record<string, string>>> => {
  const client = fork(join(import.meta.dirname, "HostileClient.ts"), [String(tollgate.port), attacker], {
    execArgv: process.execArgv
  })
  const [statuses] = await once(client, "message")
  return statuses as Readonly<Record<string, string>>
}

const takeFundsOfAttacker = async (): Promise<void> => {
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
  if (!values.funded) await takeFundsOfAttacker()
  const warmUp = new Phase()
  await sleep(QUIET_MILLIS / 4)
  await warmUp.end()
  const baseKib = residentKib(tollgate.pids)
  const quiet = new Phase()
  await sleep(QUIET_MILLIS)
  await quiet.end()

  const attacked = new Phase()
  const rows = Object.entries(await attackOf())
  await attacked.end()

  const growthMib = (attacked.peakKib - baseKib) / 1024
  const factor = attacked.p99Millis / quiet.p99Millis
  const figures = {
    "MiB of memory growth at most": growthMib.toFixed(0),
    "ms for /healthz at most, quiet": quiet.healthMillis.toFixed(0),
    "ms for /healthz at most, under attack": attacked.healthMillis.toFixed(0),
    "ms p99 of other chats, quiet": quiet.p99Millis.toFixed(1),
    "ms p99 of other chats, under attack": attacked.p99Millis.toFixed(1),
    "other chats refused": attacked.refused
  }
  for (const [name, statuses] of rows) console.log(`${name.padEnd(38)} ${statuses}`)
  console.log("")
  for (const [name, value] of Object.entries(figures)) console.log(`${String(value).padStart(8)} ${name}`)
  recordFigures(figures)
  const isMet =
    growthMib < MAX_GROWTH_MIB &&
    attacked.healthMillis < MAX_HEALTH_MILLIS &&
    factor <= MAX_P99_FACTOR &&
    attacked.refused === 0
  console.log(isMet ? "met" : "NOT met")
  if (!isMet && !values.funded) process.exitCode = 1
} finally {
  agent.destroy()
  await tollgate.stop()
  await upstream.close()
  rmSync(directory, { recursive: true, force: true })
}
