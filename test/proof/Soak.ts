/**
 * Runs the built server under constant mixed load: complete streams, streams whose clients disconnect, streams whose
 * tokens the gateway counts, and whole responses. Each minute, it checks the charges of the settled requests. At the
 * end, it checks that the memory and the number of descriptors of the server do not grow.
 *
 *     node --conditions=source --import tsx test/proof/Soak.ts --minutes 60
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Exit, Scope } from "effect"
import * as Pg from "pg"
import { MODEL } from "../bench/BenchRequest.ts"
import { residentKib } from "../bench/ProcessFigures.ts"
import { startTollgate } from "../bench/Tollgate.ts"
import { recordFigures } from "../support/Figures.ts"
import { positiveNumber, readProgram } from "../support/Program.ts"
import { ScriptedUpstream } from "../support/ScriptedUpstream.ts"
import { StreamClient } from "../support/StreamClient.ts"
import { asPlayed, type Play, played } from "../support/upstream/Play.ts"
import { flatness } from "./Flatness.ts"

const CLIENTS = 24
/** The pause of a client after each request. */
const PAUSE_MILLIS = 100
const SAMPLE_MILLIS = 5_000
const CHECK_MILLIS = 60_000
const MEMORY_TOLERANCE = 0.1
const DESCRIPTOR_TOLERANCE = 0.1

interface Call {
  readonly requestId: string
  readonly isComplete: boolean
  readonly receivedTokens: number
}

interface Row {
  readonly request_id: string
  readonly ending: string
  readonly charged_input: string
  readonly charged_output: string
  readonly writeoff_pico: string
}

const PLAYS: ReadonlyArray<Play> = [
  { deltas: 40, everyMillis: 20 },
  { deltas: 5 },
  { deltas: 30, everyMillis: 10, unreported: true },
  { deltas: 400, everyMillis: 5 }
]

const minutes = readProgram({ minutes: positiveNumber("MINUTES") }).values.minutes ?? 1
const untilMillis = performance.now() + minutes * 60_000
const isOver = () => performance.now() >= untilMillis

const directory = mkdtempSync(join(tmpdir(), "tollgate-soak-"))
const upstream = await ScriptedUpstream.start()
upstream.always(asPlayed())
const tollgate = await startTollgate(Number(new URL(upstream.baseUrl).port), directory)
const scope = Effect.runSync(Scope.make())
const { socketDir } = await Effect.runPromise(
  Scope.extend(EmbeddedPostgres.start({ directory: join(directory, "postgres") }), scope)
)
const pool = new Pg.Pool({ ...PgSettings.fromSocket(socketDir), max: 1 })
pool.on("error", () => {})
const url = `http://127.0.0.1:${tollgate.port}`

let unchecked: Array<Call> = []
const faults: Array<string> = []
const counts = { requests: 0, disconnected: 0, refused: 0, tokens: 0n }

const stream = async (key: string, play: Play, disconnectsAfter: number | undefined): Promise<void> => {
  const client = StreamClient.open(url, key, play, { model: MODEL })
  if (disconnectsAfter !== undefined) {
    await client.received(disconnectsAfter)
    client.leave()
  }
  const ending = await client.over
  if (client.status === 200) {
    unchecked.push({
      requestId: client.requestId,
      isComplete: ending === "done",
      receivedTokens: client.deltas.length
    })
    if (ending === "done") counts.tokens += BigInt(client.deltas.length)
    else counts.disconnected += 1
    if (disconnectsAfter === undefined && ending !== "done")
      faults.push(`a stream ended as ${ending}: ${client.requestId}`)
  } else counts.refused += 1
}

const whole = async (key: string): Promise<void> => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "Hi" }], ...played({ deltas: 10 }) })
  })
  await response.arrayBuffer()
  if (!response.ok) counts.refused += 1
  else {
    unchecked.push({ requestId: response.headers.get("x-request-id") ?? "", isComplete: true, receivedTokens: 10 })
    counts.tokens += 10n
  }
}

const keepCalling = async (nth: number): Promise<void> => {
  const key = tollgate.keys[nth % tollgate.keys.length] ?? ""
  for (let round = nth; !isOver(); round++) {
    counts.requests += 1
    const play = PLAYS[round % PLAYS.length] as Play
    if (round % 5 === 0) await whole(key)
    else await stream(key, play, round % 5 === 1 ? 1 + (round % play.deltas) : undefined)
    upstream.requests.splice(0)
    await sleep(PAUSE_MILLIS)
  }
}

/** Compares the charges of these calls with the tokens that the clients received. */
const check = async (calls: ReadonlyArray<Call>): Promise<void> => {
  const { rows } = await pool.query<Row>(
    `SELECT request_id, ending, charged_input::text, charged_output::text, writeoff_pico::text
     FROM settlement WHERE request_id = ANY ($1)`,
    [calls.map(({ requestId }) => requestId)]
  )
  const byId = new Map(rows.map((row) => [row.request_id, row]))
  for (const call of calls) {
    const row = byId.get(call.requestId)
    const fault = row === undefined ? "not settled" : faultOf(call, row)
    if (fault !== undefined) faults.push(`${fault}: ${JSON.stringify({ call, row })}`)
  }
}

/**
 * The charge of a stream whose client disconnected covers all deltas that the client's socket accepted. The client may
 * have read fewer, so this function checks only that the charge covers the deltas that the client read.
 */
const faultOf = ({ isComplete, receivedTokens }: Call, row: Row): string | undefined => {
  if (row.writeoff_pico !== "0") return "written off"
  if (!isComplete) return Number(row.charged_output) < receivedTokens ? "charged less than received" : undefined
  if (row.ending !== "complete") return "not settled as complete"
  const isExact = row.charged_output === String(receivedTokens)
  return isExact ? undefined : "charged another amount than received"
}

const memoryMib: Array<number> = []
const descriptors: Array<number> = []
const sample = () => {
  memoryMib.push(residentKib(tollgate.pids) / 1_024)
  descriptors.push(tollgate.pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0))
}

const repeat = async (everyMillis: number, task: () => void | Promise<void>): Promise<void> => {
  while (!isOver()) {
    await sleep(Math.min(everyMillis, Math.max(untilMillis - performance.now(), 0)))
    await task()
  }
}

try {
  const checks = repeat(CHECK_MILLIS, async () => {
    // Some of the newest calls may be unsettled, so these calls are checked in the next minute.
    const settled = unchecked.splice(0, Math.max(unchecked.length - 200, 0))
    await check(settled)
    process.stdout.write(`${counts.requests} requests, ${memoryMib.at(-1)?.toFixed(0)} MiB, ${faults.length} faults\n`)
  })
  await Promise.all([
    ...Array.from({ length: CLIENTS }, (_, nth) => keepCalling(nth)),
    repeat(SAMPLE_MILLIS, sample),
    checks
  ])
  await tollgate.chargedUsdMicro()
  const last = unchecked
  unchecked = []
  await check(last)
  const audit = await tollgate.audit()
  if (audit !== "") faults.push(audit)
  if (counts.refused > 0) faults.push(`${counts.refused} requests were refused`)
  const memory = flatness(memoryMib, MEMORY_TOLERANCE)
  const open = flatness(descriptors, DESCRIPTOR_TOLERANCE)
  if (!memory.isFlat) faults.push("the memory of the server grew")
  if (!open.isFlat) faults.push("the descriptors of the server grew")
  const figures = {
    minutes,
    requests: counts.requests,
    "streams whose client disconnected": counts.disconnected,
    "tokens of complete responses, each charged once": counts.tokens,
    "MiB of memory, median of the first and of the second half": `${memory.before.toFixed(0)} / ${memory.after.toFixed(0)}`,
    "descriptors, median of the first and of the second half": `${open.before} / ${open.after}`,
    faults: faults.length
  }
  recordFigures(figures)
  process.stdout.write(
    `${JSON.stringify(figures, (_, value) => (typeof value === "bigint" ? String(value) : value))}\n`
  )
  for (const fault of faults.slice(0, 20)) process.stdout.write(`FAULT: ${fault}\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
} finally {
  await pool.end()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await tollgate.stop()
  await upstream.close()
  rmSync(directory, { recursive: true, force: true })
}
