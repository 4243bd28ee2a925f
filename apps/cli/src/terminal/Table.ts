/**
 * Rows under their headings, each column as wide as its widest cell.
 */
import { printableLine } from "./Printable.ts"

export interface Column<Row> {
  readonly heading: string
  readonly cell: (row: Row) => string
  /** Amounts and counts stand to the right, so that digits of one rank are above each other. */
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

/** Characters, not code units: an emoji or an accent is one. */
const widthOf = (text: string): number => [...text].length
