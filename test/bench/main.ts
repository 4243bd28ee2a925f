/**
 * `npm run bench`: the cost of Tollgate as multiples of a proxy that only passes bytes. `--quick` is shorter and rougher.
 * `--beside DIR` measures the built server of another checkout in the same rounds.
 *
 * At the end it checks that the charges are exactly what the clients received.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { Bench, DISTURBED_SHARE, median, type Plan, type Rounds } from "./Measurements.ts"
import { startNginx } from "./Nginx.ts"
import { figuresTable, jsonColumns, roundsTable, streamColumns, ttfbTable } from "./Report.ts"
import type { Target } from "./Target.ts"
import { isBuilt, PRICE, startTollgate, type TollgateTarget } from "./Tollgate.ts"
import { canPin, MEASURED_CPU, SERVING_CPU, startWorker } from "./Worker.ts"

const full: Plan = {
  rounds: 3,
  warmUpMillis: 1_000,
  warmUpRequests: 40_000,
  jsonMillis: 2_500,
  jsonConnections: 64,
  streams: 300,
  chunksPerStream: 600,
  chunkEveryMillis: 5,
  ttfbMillis: 2_000,
  ttfbConnections: 20,
  idleStreams: 4_000
}
const quick: Plan = {
  ...full,
  rounds: 1,
  warmUpRequests: 10_000,
  jsonMillis: 1_500,
  chunksPerStream: 300,
  ttfbMillis: 1_000,
  idleStreams: 3_000
}

const plan = process.argv.includes("--quick") ? quick : full
const besideAt = process.argv.indexOf("--beside")
const besideCheckout = besideAt < 0 ? undefined : process.argv[besideAt + 1]
const directory = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
const stops: Array<() => Promise<void>> = []
const print = (text: string) => process.stdout.write(`${text}\n`)

const machine = `${availableParallelism()} x ${cpus()[0]?.model ?? "CPU"}, load ${loadavg()[0]?.toFixed(1)}`
if (canPin) spawnSync("taskset", ["-a", "-p", "-c", String(SERVING_CPU), String(process.pid)])
print(
  `Node ${process.version}, ${machine}. ` +
    (canPin
      ? `Measured on CPU ${MEASURED_CPU}, everything else on CPU ${SERVING_CPU}.`
      : "Not pinned: figures are rough.")
)

const run = async (): Promise<boolean> => {
  const upstream = await startWorker<number>("MockUpstream.ts", SERVING_CPU)
  const load = await startWorker("LoadGenerator.ts", SERVING_CPU)
  stops.push(load.stop, upstream.stop)
  const noKey = { keys: ["none"] }
  const startBare = async (): Promise<Target> => {
    const proxy = await startWorker<number>("BareProxy.ts", MEASURED_CPU, [String(upstream.ready)])
    return { ...noKey, name: "bare proxy", port: proxy.ready, pids: [proxy.pid], stop: proxy.stop }
  }

  const direct: Target = { ...noKey, name: "no proxy", port: upstream.ready, pids: [], stop: async () => {} }
  let bare = await startBare()
  stops.push(() => bare.stop())
  const nginx = await startNginx(upstream.ready, directory)
  if (nginx === undefined) print("nginx is not installed: left out.")
  else stops.push(nginx.stop)
  if (!isBuilt()) print("apps/server is not built: Tollgate is left out.")
  let tollgate = isBuilt() ? await startTollgate(upstream.ready, join(directory, "this")) : undefined
  stops.push(async () => tollgate?.stop())
  let beside =
    besideCheckout === undefined
      ? undefined
      : await startTollgate(upstream.ready, join(directory, "beside"), { checkout: besideCheckout, name: "beside" })
  stops.push(async () => beside?.stop())

  const proxies = () => [bare, nginx, tollgate, beside].filter((target) => target !== undefined)
  let received = { promptTokens: 0, completionTokens: 0, requests: 0 }
  const bench = new Bench(load, plan, (target, { promptTokens, completionTokens, requests }) => {
    if (target !== tollgate) return
    received = {
      promptTokens: received.promptTokens + promptTokens,
      completionTokens: received.completionTokens + completionTokens,
      requests: received.requests + requests
    }
  })

  print(`\nMemory of an open silent stream, ${plan.idleStreams} open`)
  const idle = await bench.idleStreams(proxies())
  const idleKib = (tollgate === undefined ? undefined : idle.get(tollgate)) ?? Number.NaN
  print(figuresTable("KiB/stream", idle, bare))
  // Thousands of closed connections leave long lists in both processes, which makes later requests dearer.
  await bare.stop()
  bare = await startBare()
  tollgate = await tollgate?.restarted()
  beside = await beside?.restarted()
  await bench.warmUp(proxies())
  print(`\nWhole responses, ${plan.jsonConnections} connections, median of ${plan.rounds}`)
  const json = await bench.json([direct, ...proxies()])
  print(roundsTable(json, jsonColumns, bare))
  print(`\n${plan.streams} streams, one chunk each ${plan.chunkEveryMillis} ms, median of ${plan.rounds}`)
  const streams = await bench.streams(proxies())
  print(roundsTable(streams, streamColumns, bare))
  print(`\nTime to the first byte of a stream, ${plan.ttfbConnections} connections, median of ${plan.rounds}`)
  const ttfb = await bench.ttfb([direct, ...proxies()])
  print(ttfbTable(ttfb, direct))
  const busy = wasBusy([json, streams, ttfb])
  if (tollgate === undefined) return true
  const fast = accept(tollgate, bare, json, streams, idleKib, busy)
  return (await chargesMatch(tollgate, received)) && fast
}

/** A ratio holds only when no other process used the measured CPU. */
const wasBusy = (measurements: ReadonlyArray<Rounds>): boolean => {
  const rounds = measurements.flatMap((each) => [...each.values()].flat())
  const share = median(rounds, ({ foreignShare }) => foreignShare)
  if (!canPin || share <= DISTURBED_SHARE) return false
  print(`\nOther programs took ${Math.round(share * 100)} % of the measured CPU: these figures are not reliable.`)
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
  const ratio = (rounds: Rounds, column: (typeof jsonColumns)[number] | undefined): number =>
    column === undefined
      ? Number.NaN
      : median(rounds.get(tollgate), column.figure) / median(rounds.get(bare), column.figure)
  const lines = [
    { what: "whole responses: requests/s, of the bare proxy's", figure: ratio(json, jsonColumns[0]), least: 0.3 },
    { what: "streams: CPU per chunk, of the bare proxy's", figure: ratio(streams, streamColumns[1]), most: 1.3 },
    { what: "memory: KiB per idle stream", figure: idleKib, least: 0, most: 45 }
  ]
  print("")
  return lines
    .map(({ what, figure, least, most }) => {
      const met = (least === undefined || figure >= least) && (most === undefined || figure <= most)
      const wanted = most === undefined ? `at least ${least}` : `at most ${most}`
      print(`${busy ? "unsure " : met ? "met    " : "NOT MET"}  ${what}: ${figure.toFixed(2)} (${wanted})`)
      return busy || met
    })
    .every(Boolean)
}

/** Checks that the charges equal what the clients received, to the micro-USD, and that the audit finds nothing. */
const chargesMatch = async (
  tollgate: TollgateTarget,
  received: { readonly promptTokens: number; readonly completionTokens: number; readonly requests: number }
): Promise<boolean> => {
  const owed = BigInt(received.promptTokens) * PRICE.input + BigInt(received.completionTokens) * PRICE.output
  const owedUsdMicro = owed / 1_000_000n
  const charged = await tollgate.chargedUsdMicro()
  const differences = await tollgate.audit()
  const agree = charged === owedUsdMicro && differences === ""
  print(
    `${agree ? "met    " : "NOT MET"}  charges: ${charged} micro-USD for ${received.requests} requests, ` +
      `${owedUsdMicro} for what the clients received; audit ${differences === "" ? "clean" : differences}`
  )
  return agree
}

try {
  process.exitCode = (await run()) ? 0 : 1
} finally {
  for (const stop of stops.reverse()) await stop()
  rmSync(directory, { recursive: true, force: true })
}
