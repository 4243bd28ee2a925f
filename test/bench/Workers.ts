/**
 * Measures a server with two workers and a server with one process in the same rounds (`npm run bench -- --workers`).
 *
 * No process is pinned to a CPU, because the benchmark measures the throughput of a machine with all its CPUs. Both
 * servers use the same database.
 *
 * The result depends on the number of customers. Two workers that serve the same customer at the same time write the
 * same row, and each worker decides again when the other worker has changed the balance. Therefore whole responses are
 * measured with one customer for each connection, and with a few customers that all connections share.
 */
import { availableParallelism } from "node:os"
import { startBenchProcess } from "./BenchProcess.ts"
import { added, chargesMatch, nothingReceived } from "./Charges.ts"
import { Bench, type Plan } from "./Measurements.ts"
import { jsonColumns, roundsTable, streamColumns } from "./Report.ts"
import type { Target } from "./Target.ts"
import { startTollgate } from "./Tollgate.ts"

const WORKERS = 2
/** The load, the upstream and Postgres use about this many CPUs beside the workers. */
const OTHER_CPUS = 2
const MAX_ROUNDS = 8
const FEW_CUSTOMERS = 4

export const measureWorkers = async (
  fullPlan: Plan,
  directory: string,
  stops: Array<() => Promise<void>>,
  print: (text: string) => void
): Promise<boolean> => {
  const cpus = availableParallelism()
  if (cpus < WORKERS + OTHER_CPUS) {
    print(
      `This machine has ${cpus} CPUs for ${WORKERS} workers, the load, the upstream and Postgres together. ` +
        "So these figures do not show what a second worker adds on a machine with free CPUs."
    )
  }
  const upstream = await startBenchProcess<number>("MockUpstream.ts", undefined)
  const load = await startBenchProcess("LoadGenerator.ts", undefined)
  stops.push(load.stop, upstream.stop)
  const { jsonConnections: connections } = fullPlan
  const single = await startTollgate(upstream.ready, directory, {
    name: "WORKERS=1",
    workers: 1,
    customers: connections
  })
  stops.push(single.stop)
  const several = await single.beside(WORKERS)
  stops.push(several.stop)
  const plan = { ...fullPlan, rounds: Math.min(MAX_ROUNDS, fullPlan.rounds), ownCpu: false }
  let received = nothingReceived
  const bench = new Bench(load, plan, (_, outcome) => {
    received = added(received, outcome)
  })
  const servers = [single, several]
  await bench.warmUp(servers)
  for (const customers of [connections, FEW_CUSTOMERS]) {
    print(`\nWhole responses, ${connections} connections of ${customers} customers, best of ${plan.rounds} rounds`)
    const [base, other] = servers.map((server): Target => ({ ...server, keys: server.keys.slice(0, customers) }))
    if (base === undefined || other === undefined) continue
    print(roundsTable(await bench.json([base, other]), jsonColumns, base, base.name))
  }
  print(`\n${plan.streams} streams, one chunk each ${plan.chunkEveryMillis} ms, best of ${plan.rounds} rounds`)
  print(roundsTable(await bench.streams(servers), streamColumns, single, single.name))
  print("")
  return chargesMatch(single, received, print)
}
