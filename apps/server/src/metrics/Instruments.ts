/**
 * Creates metrics that read their values when Prometheus scrapes them. The server counts in variables of its own, so
 * counting a request usually takes only an addition.
 */
import { Counter, Gauge, type Registry } from "prom-client"

export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>
  readonly value: number
}

/** How the values of several workers are combined to one value. */
type Aggregator = "sum" | "min" | "max" | "first"

export const counter = (registry: Registry, name: string, help: string, value: () => number) =>
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(value())
    }
  })

export const gauge = (registry: Registry, name: string, help: string, value: () => number) =>
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value())
    }
  })

export const counters = <const Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: ReadonlyArray<Label>,
  samples: () => Iterable<Sample<Label>>
) =>
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, value } of samples()) this.inc(labels, value)
    }
  })

export const gauges = <const Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: ReadonlyArray<Label>,
  samples: () => Iterable<Sample<Label>>,
  aggregator: Aggregator = "sum"
) =>
  new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    aggregator,
    collect() {
      this.reset()
      for (const { labels, value } of samples()) this.set(labels, value)
    }
  })
