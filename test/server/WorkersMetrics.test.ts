import { Counter, Registry } from "prom-client"
import { describe, expect, it } from "vitest"
import type { ProcessMetrics } from "../../apps/server/src/workers/WorkerMessage.ts"
import type { WorkerProcess } from "../../apps/server/src/workers/WorkerProcess.ts"
import { WorkersMetrics } from "../../apps/server/src/workers/WorkersMetrics.ts"

const metricsOf = (requests: number): Promise<ProcessMetrics> => {
  const registry = new Registry()
  new Counter({ name: "requests_total", help: "Requests.", registers: [registry] }).inc(requests)
  return registry.getMetricsAsJSON()
}

/** A worker with this number of requests. A read of its metrics succeeds as soon as `ready` is resolved. */
const aWorker = async (requests: number, ready: Promise<void> = Promise.resolve()): Promise<WorkerProcess> => {
  const lastMetrics = await metricsOf(requests)
  const worker = { node: "a node", lastMetrics, readMetrics: () => ready.then(() => lastMetrics) }
  return worker as unknown as WorkerProcess
}

const requestsIn = (page: string): number => Number(/^requests_total (\d+)$/m.exec(page)?.[1])

describe("the metrics of several workers", () => {
  it("contain the counters of a worker that has ended", async () => {
    const metrics = new WorkersMetrics()
    const ended = await aWorker(7)
    for (const worker of [ended, await aWorker(5)]) metrics.add(worker)
    await metrics.retire(ended)
    expect(requestsIn(await metrics.metrics())).toBe(12)
  })

  it("count a worker only once if it ends while its metrics are read", async () => {
    const metrics = new WorkersMetrics()
    const { promise: mayRespond, resolve: respond } = withResolvers()
    const ends = await aWorker(7, mayRespond)
    for (const worker of [ends, await aWorker(5)]) metrics.add(worker)
    const page = metrics.metrics()
    await metrics.retire(ends)
    respond()
    expect(requestsIn(await page)).toBe(12)
  })
})

const withResolvers = () => {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve: () => resolve() }
}
