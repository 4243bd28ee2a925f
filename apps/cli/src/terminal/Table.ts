/**
 * Formats tables, and lists of named values. Each column is as wide as its widest cell.
 */
import { printableLine } from "./Output.ts"

export interface Column<Row> {
  readonly heading: string
  readonly cell: (row: Row) => string
  /** Set for amounts and counts, which are right-aligned. */
  readonly align?: "right"
}

const GAP = "  "

export const table = <Row>(columns: ReadonlyArray<Column<Row>>, rows: ReadonlyArray<Row>): string => {
  const cells = columns.map(({ align, cell, heading }) => {
    const texts = [heading.toUpperCase(), ...rows.map((row) => printableLine(cell(row)))]
    const width = Math.max(...texts.map(widthOf))
    return texts.map((text) => {
      const padding = " ".repeat(width - widthOf(text))
      return align === "right" ? padding + text : text + padding
    })
  })
  return [...rows.keys(), rows.length]
    .map((line) =>
      cells
        .map((column) => column[line])
        .join(GAP)
        .trimEnd()
    )
    .join("\n")
}

/** Returns the number of code points, not of UTF-16 code units, so that most emoji count as one character. */
const widthOf = (text: string): number => [...text].length

/** Formats named values, one per line. */
export const namedValues = (values: ReadonlyArray<readonly [name: string, value: string]>): string => {
  const width = Math.max(...values.map(([name]) => name.length))
  return values.map(([name, value]) => `${name.padEnd(width)}  ${printableLine(value)}`).join("\n")
}
