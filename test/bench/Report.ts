/**
 * Formats the measured figures as tables. Beside each figure is its ratio to the figure of another target, such as the
 * bare proxy. The ratio depends less on the machine than the figure does. Only the table of times to the first byte
 * shows differences instead of ratios.
 */
import { best, type Figure, type Round, type Rounds } from "./Measurements.ts"
import type { Target } from "./Target.ts"

export interface Column {
  readonly heading: string
  readonly digits: number
  readonly figure: Figure
  readonly better: "higher" | "lower"
  /**
   * True if the figure is a measurement of the target's processes, such as CPU time. The target "no proxy" has
   * no measured processes, so it has no such figure.
   */
  readonly ofProcess?: boolean
}

const perSecond = (count: number, { result }: Round): number => (count / result.elapsedMillis) * 1_000

export const requestsPerSecond: Column = {
  heading: "requests/s",
  digits: 0,
  better: "higher",
  figure: (round) => perSecond(round.result.requests, round)
}

export const jsonColumns: ReadonlyArray<Column> = [
  requestsPerSecond,
  {
    heading: "CPU us/request",
    digits: 1,
    better: "lower",
    figure: (round) => round.cpuMicros / round.result.requests,
    ofProcess: true
  },
  { heading: "p50 us", digits: 0, better: "lower", figure: ({ result }) => result.p50Micros },
  { heading: "p99 us", digits: 0, better: "lower", figure: ({ result }) => result.p99Micros }
]

export const cpuPerChunk: Column = {
  heading: "CPU us/chunk",
  digits: 2,
  better: "lower",
  figure: (round) => round.cpuMicros / round.result.completionTokens,
  ofProcess: true
}

export const streamColumns: ReadonlyArray<Column> = [
  {
    heading: "chunks/s",
    digits: 0,
    better: "higher",
    figure: (round) => perSecond(round.result.completionTokens, round)
  },
  cpuPerChunk
]

const p50Micros: Figure = ({ result }) => result.p50Micros
const p99Micros: Figure = ({ result }) => result.p99Micros

/**
 * Returns by how many microseconds the target's p50 and p99, each from its best round, exceed those of the bare proxy.
 */
export const addedMicros = (
  rounds: Rounds,
  target: Target,
  bare: Target
): { readonly p50: number; readonly p99: number } => {
  const added = (figure: Figure) => best(rounds.get(target), figure, "lower") - best(rounds.get(bare), figure, "lower")
  return { p50: added(p50Micros), p99: added(p99Micros) }
}

/** Returns a table of the times to the first byte, and of their differences from the times of the bare proxy. */
export const ttfbTable = (rounds: Rounds, bare: Target): string =>
  table(
    ["target", "p50 us", "added", "p99 us", "added"],
    [...rounds].map(([target, measured]) => {
      const added = addedMicros(rounds, target, bare)
      return [
        target.name,
        best(measured, p50Micros, "lower").toFixed(0),
        added.p50.toFixed(0),
        best(measured, p99Micros, "lower").toFixed(0),
        added.p99.toFixed(0)
      ]
    })
  )

/** Returns a target's best figure as a multiple of the best figure of `base`. */
export const ratio = (rounds: Rounds, { figure, better }: Column, target: Target, base: Target): number =>
  best(rounds.get(target), figure, better) / best(rounds.get(base), figure, better)

/** Returns a table of the best figures of each target. Beside each figure is its ratio to the figure of `base`. */
export const roundsTable = (
  rounds: Rounds,
  columns: ReadonlyArray<Column>,
  base: Target,
  baseName = "bare"
): string => {
  const rows = [...rounds.keys()].map((target) => [
    target.name,
    ...columns.flatMap((column) => {
      const { figure, better, digits, ofProcess } = column
      if (ofProcess === true && target.pids.length === 0) return ["-", "-"]
      const value = best(rounds.get(target), figure, better)
      return [value.toFixed(digits), `x${ratio(rounds, column, target, base).toFixed(2)}`]
    })
  ])
  return table(["target", ...columns.flatMap(({ heading }) => [heading, `/ ${baseName}`])], rows)
}

export const figuresTable = (heading: string, figures: ReadonlyMap<string, number>, bare: Target): string =>
  table(
    ["target", heading, "/ bare"],
    [...figures].map(([name, figure]) => [
      name,
      figure.toFixed(1),
      `x${(figure / (figures.get(bare.name) ?? Number.NaN)).toFixed(2)}`
    ])
  )

const table = (headings: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  ")
  return [line(headings), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n")
}
