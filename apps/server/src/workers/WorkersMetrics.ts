/**
 * Combines the metrics of all workers, so that one page describes the whole server.
 *
 * Counters and histograms include the last values that were read from workers that have ended. Without these values, a
 * sum would decrease, and Prometheus would interpret this as a restart of the whole server.
 */
import { AggregatorRegistry, Gauge, Registry } from "prom-client"
import type { ProcessMetrics } from "./WorkerMessage.ts"
import type { WorkerProcess } from "./WorkerProcess.ts"

export class WorkersMetrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  readonly #workers = new Set<WorkerProcess>()
  readonly #own = new Registry()
  /** The sums of the counters and histograms of the workers that have ended. */
  #ended: ProcessMetrics = []
  /** Completed when the sums contain every worker that was passed to {@link retire}. */
  #retired: Promise<void> = Promise.resolve()

  constructor() {
    const serving = () => [...this.#workers].filter(({ node }) => node !== undefined).length
    new Gauge({
      name: "tollgate_workers",
      help: "Workers that serve requests.",
      registers: [this.#own],
      collect() {
        this.set(serving())
      }
    })
  }

  add(worker: WorkerProcess): void {
    this.#workers.add(worker)
  }

  /** Adds the counters and histograms of a worker that has ended to the stored sums. */
  retire(worker: WorkerProcess): Promise<void> {
    this.#retired = this.#retired.then(async () => {
      this.#ended = await combined([this.#ended, worker.lastMetrics.filter(isSum)]).getMetricsAsJSON()
      this.#workers.delete(worker)
    })
    return this.#retired
  }

  /** Returns the combined metrics as Prometheus text. */
  async metrics(): Promise<string> {
    const reads = [...this.#workers].map(async (worker) => ({ worker, metrics: await worker.readMetrics() }))
    const [own, ...ofWorkers] = await Promise.all([this.#own.getMetricsAsJSON(), ...reads])
    // A worker can end while its metrics are read. The sums of the ended workers then contain its values already.
    const current = ofWorkers.filter(({ worker }) => this.#workers.has(worker))
    return combined([own, this.#ended, ...current.map(({ metrics }) => metrics)]).metrics()
  }
}

const combined = (metrics: ReadonlyArray<ProcessMetrics>): Registry => AggregatorRegistry.aggregate([...metrics])

/** The type is a text at run time, although prom-client declares it as a number. */
const isSum = ({ type }: { readonly type: unknown }): boolean => type === "counter" || type === "histogram"
