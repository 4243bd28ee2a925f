/**
 * The figures as tables. Each figure has its ratio to the bare proxy beside it; the ratio holds on other machines too.
 */
import { median, type Round, type Rounds } from "./Measurements.ts"
import type { Target } from "./Target.ts"

export interface Column {
  readonly heading: string
  readonly digits: number
  readonly figure: (round: Round) => number
  /** The figure needs a process of the target, so it is left out for a target that has none. */
  readonly ofProcess?: boolean
}

const perSecond = (count: number, { outcome }: Round): number => (count / outcome.elapsedMillis) * 1_000

export const jsonColumns: ReadonlyArray<Column> = [
  { heading: "requests/s", digits: 0, figure: (round) => perSecond(round.outcome.requests, round) },
  {
    heading: "CPU us/request",
    digits: 1,
    figure: (round) => round.cpuMicros / round.outcome.requests,
    ofProcess: true
  },
  { heading: "p50 us", digits: 0, figure: ({ outcome }) => outcome.p50Micros },
  { heading: "p99 us", digits: 0, figure: ({ outcome }) => outcome.p99Micros }
]

export const streamColumns: ReadonlyArray<Column> = [
  { heading: "chunks/s", digits: 0, figure: (round) => perSecond(round.outcome.completionTokens, round) },
  {
    heading: "CPU us/chunk",
    digits: 2,
    figure: (round) => round.cpuMicros / round.outcome.completionTokens,
    ofProcess: true
  }
]

/** The times to the first byte, and how much of each the proxy adds to a direct connection. */
export const ttfbTable = (rounds: Rounds, direct: Target): string => {
  const p50 = (target: Target) => median(rounds.get(target), ({ outcome }) => outcome.p50Micros)
  const p99 = (target: Target) => median(rounds.get(target), ({ outcome }) => outcome.p99Micros)
  return table(
    ["target", "p50 us", "added", "p99 us", "added"],
    [...rounds.keys()].map((target) => [
      target.name,
      p50(target).toFixed(0),
      (p50(target) - p50(direct)).toFixed(0),
      p99(target).toFixed(0),
      (p99(target) - p99(direct)).toFixed(0)
    ])
  )
}

export const roundsTable = (rounds: Rounds, columns: ReadonlyArray<Column>, bare: Target): string => {
  const rows = [...rounds.keys()].map((target) => [
    target.name,
    ...columns.flatMap(({ figure, digits, ofProcess }) => {
      if (ofProcess === true && target.pids.length === 0) return ["-", "-"]
      const value = median(rounds.get(target), figure)
      const ratio = value / median(rounds.get(bare), figure)
      return [value.toFixed(digits), `x${ratio.toFixed(2)}`]
    })
  ])
  return table(["target", ...columns.flatMap(({ heading }) => [heading, "/ bare"])], rows)
}

export const figuresTable = (heading: string, figures: ReadonlyMap<Target, number>, bare: Target): string =>
  table(
    ["target", heading, "/ bare"],
    [...figures].map(([target, figure]) => [
      target.name,
      figure.toFixed(1),
      `x${(figure / (figures.get(bare) ?? Number.NaN)).toFixed(2)}`
    ])
  )

const table = (headings: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  ")
  return [line(headings), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n")
}
