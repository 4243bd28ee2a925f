/**
 * Measures the cost of Tollgate as a multiple of the cost of a proxy that only forwards bytes (`npm run bench`).
 * `--quick` is shorter and less exact. `--beside DIR` measures the built server of another checkout in the same rounds.
 * `--workers` measures only a server with two workers and a server with one process. `--traces` measures only a server
 * with traces and a server without traces.
 *
 * At the end the benchmark checks that the charges equal the usage that the clients received.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { buildThisCheckout, path, readProgram } from "../support/Program.ts"
import { canPin, MEASURED_CPU, SERVING_CPU, startBenchProcess } from "./BenchProcess.ts"
import { added, chargesMatch, nothingReceived } from "./Charges.ts"
import { Bench, DISTURBED_SHARE, median, type Plan, type Rounds, type TtfbLoad } from "./Measurements.ts"
import { startNginx } from "./Nginx.ts"
import {
  cpuPerChunk,
  figuresTable,
  jsonColumns,
  ratio,
  requestsPerSecond,
  roundsTable,
  streamColumns,
  ttfbTable
} from "./Report.ts"
import type { Target } from "./Target.ts"
import { isBuilt, startTollgate } from "./Tollgate.ts"
import { measureTraces } from "./Traces.ts"
import { measureWorkers } from "./Workers.ts"

const full: Plan = {
  rounds: 32,
  warmUpMillis: 1_000,
  warmUpRequests: 40_000,
  jsonMillis: 1_000,
  jsonConnections: 64,
  streams: 300,
  chunksPerStream: 200,
  chunkEveryMillis: 5,
  ttfbRounds: 32,
  ttfbMillis: 500,
  ttfbConnections: [20, 64],
  idleStreams: 4_800,
  ownCpu: canPin
}
const quick: Plan = {
  ...full,
  rounds: 4,
  warmUpRequests: 10_000,
  ttfbRounds: 8
}

const options = readProgram({ quick: "flag", beside: path("DIR"), workers: "flag", traces: "flag" }).values
buildThisCheckout()
const plan = options.quick ? quick : full
/**
 * The number of measurements of the idle streams. Each reverses the order of the targets. All targets except nginx are
 * restarted after each.
 */
const IDLE_PASSES = 2
const TTFB_LOADS: ReadonlyArray<TtfbLoad> = [
  { afterMillis: 0, clients: "together" },
  { afterMillis: 20, clients: "together" },
  { afterMillis: 20, clients: "independent" }
]
const onlyWorkers = options.workers
const onlyTraces = options.traces
const besideCheckout = options.beside
const directory = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
const stops: Array<() => Promise<void>> = []
const print = (text: string) => process.stdout.write(`${text}\n`)

const machine = `${availableParallelism()} x ${cpus()[0]?.model ?? "CPU"}, load ${loadavg()[0]?.toFixed(1)}`
if (canPin && !onlyWorkers) spawnSync("taskset", ["-a", "-p", "-c", String(SERVING_CPU), String(process.pid)])
print(
  `Node.js ${process.version}, ${machine}. ` +
    (canPin && !onlyWorkers
      ? `Measured on CPU ${MEASURED_CPU}, everything else on CPU ${SERVING_CPU}.`
      : "The processes are not assigned to CPUs, so the figures are less exact.")
)

const run = async (): Promise<boolean> => {
  const upstream = await startBenchProcess<number>("MockUpstream.ts", SERVING_CPU)
  const load = await startBenchProcess("LoadGenerator.ts", SERVING_CPU)
  stops.push(load.stop, upstream.stop)
  const noKey = { keys: ["none"] }
  const startBare = async (): Promise<Target> => {
    const proxy = await startBenchProcess<number>("BareProxy.ts", MEASURED_CPU, [String(upstream.ready)])
    return { ...noKey, name: "bare proxy", port: proxy.ready, pids: [proxy.pid], stop: proxy.stop }
  }

  const direct: Target = { ...noKey, name: "no proxy", port: upstream.ready, pids: [], stop: async () => {} }
  let bare = await startBare()
  stops.push(() => bare.stop())
  const nginx = await startNginx(upstream.ready, directory)
  if (nginx === undefined) print("nginx is not installed and is not measured.")
  else stops.push(nginx.stop)
  if (!isBuilt()) print("apps/server is not built, so Tollgate is not measured; run npm run build.")
  let tollgate = isBuilt() ? await startTollgate(upstream.ready, join(directory, "this")) : undefined
  stops.push(async () => tollgate?.stop())
  let beside =
    besideCheckout === undefined
      ? undefined
      : await startTollgate(upstream.ready, join(directory, "beside"), { checkout: besideCheckout, name: "beside" })
  stops.push(async () => beside?.stop())

  const proxies = () => [bare, nginx, tollgate, beside].filter((target) => target !== undefined)
  let received = nothingReceived
  const bench = new Bench(load, plan, (target, outcome) => {
    if (target === tollgate) received = added(received, outcome)
  })

  print(`\nMemory of an open silent stream, ${plan.idleStreams} open, best of ${IDLE_PASSES}`)
  const idleKib = new Map<string, number>()
  for (let pass = 0; pass < IDLE_PASSES; pass++) {
    const targets = pass % 2 === 0 ? proxies() : proxies().reverse()
    for (const [{ name }, kib] of await bench.idleStreams(targets)) {
      idleKib.set(name, Math.min(kib, idleKib.get(name) ?? Number.POSITIVE_INFINITY))
    }
    // Thousands of closed connections leave long lists in each process, which makes later requests slower.
    await bare.stop()
    bare = await startBare()
    tollgate = await tollgate?.restarted()
    beside = await beside?.restarted()
  }
  print(figuresTable("KiB/stream", idleKib, bare))
  await bench.warmUp(proxies())
  print(`\nWhole responses, ${plan.jsonConnections} connections, best of ${plan.rounds} rounds`)
  const json = await bench.json([direct, ...proxies()])
  print(roundsTable(json, jsonColumns, bare))
  print(`\n${plan.streams} streams, one chunk every ${plan.chunkEveryMillis} ms, best of ${plan.rounds} rounds`)
  const streams = await bench.streams(proxies())
  print(roundsTable(streams, streamColumns, bare))
  const ttfb: Array<Rounds> = []
  for (const connections of plan.ttfbConnections) {
    for (const load of TTFB_LOADS) {
      const { afterMillis, clients } = load
      print(
        `\nTime to the first byte of a stream, ${connections} ${clients === "together" ? "clients that send together" : "independent clients"}, ` +
          `model takes ${afterMillis} ms, best of ${plan.ttfbRounds} rounds`
      )
      const rounds = await bench.ttfb([direct, ...proxies()], connections, load)
      print(ttfbTable(rounds, bare))
      ttfb.push(rounds)
    }
  }
  const busy = wasBusy([json, streams, ...ttfb])
  if (tollgate === undefined) return true
  const fast = accept(tollgate, bare, json, streams, idleKib.get(tollgate.name) ?? Number.NaN, busy)
  return (await chargesMatch(tollgate, received, print)) && fast
}

/** Returns true if other processes used so much of the measured CPU that the ratios are not reliable. */
const wasBusy = (measurements: ReadonlyArray<Rounds>): boolean => {
  const rounds = measurements.flatMap((each) => [...each.values()].flat())
  const share = median(rounds, ({ foreignShare }) => foreignShare)
  if (!canPin || share <= DISTURBED_SHARE) return false
  print(`\nOther programs used ${Math.round(share * 100)} % of the measured CPU: these figures are not reliable.`)
  return true
}

const accept = (
  tollgate: Target,
  bare: Target,
  json: Rounds,
  streams: Rounds,
  idleKib: number,
  busy: boolean
): boolean => {
  const lines = [
    {
      what: "whole responses: requests/s, divided by those of the bare proxy",
      figure: ratio(json, requestsPerSecond, tollgate, bare),
      least: 0.3
    },
    {
      what: "streams: CPU per chunk, divided by that of the bare proxy",
      figure: ratio(streams, cpuPerChunk, tollgate, bare),
      most: 1.3
    },
    { what: "memory: KiB per idle stream", figure: idleKib, least: 0, most: 45 }
  ]
  print("")
  return lines
    .map(({ what, figure, least, most }) => {
      const met = (least === undefined || figure >= least) && (most === undefined || figure <= most)
      const required = most === undefined ? `at least ${least}` : `at most ${most}`
      print(`${busy ? "unsure " : met ? "met    " : "NOT MET"}  ${what}: ${figure.toFixed(2)} (${required})`)
      return busy || met
    })
    .every(Boolean)
}

try {
  if ((onlyWorkers || onlyTraces) && !isBuilt()) throw new Error("apps/server is not built; run npm run build")
  const measured = onlyWorkers
    ? await measureWorkers(plan, directory, stops, print)
    : onlyTraces
      ? await measureTraces(plan, directory, besideCheckout, stops, print)
      : await run()
  process.exitCode = measured ? 0 : 1
} finally {
  for (const stop of stops.reverse()) await stop()
  rmSync(directory, { recursive: true, force: true })
}
