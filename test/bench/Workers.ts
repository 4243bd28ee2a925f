/**
 * `npm run bench -- --workers`: a server with two workers beside a server with one process, in the same rounds.
 *
 * No process is pinned to a CPU, because the figure of interest is what one machine serves with all its CPUs. Each server
 * has a Postgres of its own.
 */
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { added, chargesMatch, nothingReceived } from "./Charges.ts"
import { Bench, type Plan } from "./Measurements.ts"
import { jsonColumns, roundsTable, streamColumns } from "./Report.ts"
import type { Target } from "./Target.ts"
import { isBuilt, startTollgate } from "./Tollgate.ts"
import { startWorker } from "./Worker.ts"

const WORKERS = 2
/** The load, the upstream and Postgres use about this many CPUs beside the workers. */
const OTHER_CPUS = 2
const MAX_ROUNDS = 8

export const measureWorkers = async (
  fullPlan: Plan,
  directory: string,
  stops: Array<() => Promise<void>>,
  print: (text: string) => void
): Promise<boolean> => {
  if (!isBuilt()) {
    print("apps/server is not built.")
    return false
  }
  const cpus = availableParallelism()
  if (cpus < WORKERS + OTHER_CPUS) {
    print(
      `This machine has ${cpus} CPUs for ${WORKERS} workers, the load, the upstream and Postgres together. ` +
        "So the second worker adds less here than on a machine with free CPUs."
    )
  }
  const upstream = await startWorker<number>("MockUpstream.ts", undefined)
  const load = await startWorker("LoadGenerator.ts", undefined)
  stops.push(load.stop, upstream.stop)
  const start = async (workers: number) => {
    const name = `WORKERS=${workers}`
    const server = await startTollgate(upstream.ready, join(directory, name), { name, workers })
    stops.push(server.stop)
    return server
  }
  const single = await start(1)
  const servers = [single, await start(WORKERS)]
  const plan = { ...fullPlan, rounds: Math.min(MAX_ROUNDS, fullPlan.rounds), ownCpu: false }
  const received = new Map(servers.map((server) => [server as Target, nothingReceived]))
  const bench = new Bench(load, plan, (target, outcome) =>
    received.set(target, added(received.get(target) ?? nothingReceived, outcome))
  )
  await bench.warmUp(servers)
  print(`\nWhole responses, ${plan.jsonConnections} connections, best of ${plan.rounds} rounds`)
  print(roundsTable(await bench.json(servers), jsonColumns, single, single.name))
  print(`\n${plan.streams} streams, one chunk each ${plan.chunkEveryMillis} ms, best of ${plan.rounds} rounds`)
  print(roundsTable(await bench.streams(servers), streamColumns, single, single.name))
  print("")
  let exact = true
  for (const server of servers) {
    exact = (await chargesMatch(server, received.get(server) ?? nothingReceived, print)) && exact
  }
  return exact
}
