/**
 * Measures the cost of traces (`npm run bench -- --traces`). Compares the whole responses of a server without traces
 * with those of a server that traces 1 % of its requests. `--beside DIR` adds the built server of another checkout,
 * without traces.
 *
 * The speed of a Node.js process depends on how the JIT compiler has optimised it, and differs by up to 20 % between
 * two processes with the same code. Therefore each server is restarted several times, and the best figure of all rounds
 * counts.
 */
import { createServer } from "node:http"
import { join } from "node:path"
import { SERVING_CPU, startBenchProcess } from "./BenchProcess.ts"
import { added, chargesMatch, nothingReceived } from "./Charges.ts"
import { Bench, type Plan, type Round } from "./Measurements.ts"
import { jsonColumns, roundsTable } from "./Report.ts"
import { freePort, type Target } from "./Target.ts"
import { startTollgate, type TollgateTarget } from "./Tollgate.ts"

const PASSES = 6
const ROUNDS_PER_PASS = 4
const SAMPLED_SHARE = 0.01

/** Starts a server that accepts the spans of an OpenTelemetry exporter, and counts the requests. */
const startCollector = async () => {
  let exports = 0
  const server = createServer((request, response) => {
    exports += 1
    request.resume().once("end", () => response.setHeader("content-type", "application/json").end("{}"))
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  const stop = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}`, exports: () => exports, stop }
}

export const measureTraces = async (
  fullPlan: Plan,
  directory: string,
  besideCheckout: string | undefined,
  stops: Array<() => Promise<void>>,
  print: (text: string) => void
): Promise<boolean> => {
  const upstream = await startBenchProcess<number>("MockUpstream.ts", SERVING_CPU)
  const load = await startBenchProcess("LoadGenerator.ts", SERVING_CPU)
  const collector = await startCollector()
  stops.push(load.stop, upstream.stop, collector.stop)
  const servers: Array<TollgateTarget> = []
  stops.push(async () => void (await Promise.all(servers.map((server) => server.stop()))))
  const start = async (name: string, options: Parameters<typeof startTollgate>[2]) =>
    void servers.push(
      await startTollgate(upstream.ready, join(directory, name.replace(/\W/g, "-")), { name, ...options })
    )

  await start("without traces", {})
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER_ARG: String(SAMPLED_SHARE)
  }
  await start("traces of 1 %", { environment })
  if (besideCheckout !== undefined) await start("beside, without traces", { checkout: besideCheckout })

  let received = nothingReceived
  const bench = new Bench(load, { ...fullPlan, rounds: ROUNDS_PER_PASS }, (target, outcome) => {
    if (target.name === "without traces") received = added(received, outcome)
  })
  const all = servers.map((): Array<Round> => [])
  for (let pass = 0; pass < PASSES; pass++) {
    for (const [i, server] of servers.entries()) if (pass > 0) servers[i] = await server.restarted()
    await bench.warmUp(servers)
    const measured = await bench.json(servers)
    for (const [i, server] of servers.entries()) all[i]?.push(...(measured.get(server) ?? []))
  }
  const rounds = new Map<Target, ReadonlyArray<Round>>(servers.map((server, i) => [server, all[i] ?? []]))
  const [base] = servers
  if (base === undefined) return false
  print(
    `\nWhole responses, ${fullPlan.jsonConnections} connections, best of ${PASSES * ROUNDS_PER_PASS} rounds of ` +
      `${PASSES} processes; the collector received ${collector.exports()} requests`
  )
  print(roundsTable(rounds, jsonColumns, base, base.name))
  print("")
  return (await chargesMatch(base, received, print)) && collector.exports() > 0
}
