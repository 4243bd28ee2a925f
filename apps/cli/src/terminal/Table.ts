/**
 * Formats tables, and lists of named values. Each column of a table is as wide as its widest cell in a terminal.
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
    const widths = texts.map(widthOf)
    // `Math.max(...widths)` would exceed the stack with more than about 100,000 rows.
    const width = widths.reduce((a, b) => Math.max(a, b), 0)
    return texts.map((text, line) => {
      const padding = " ".repeat(width - (widths[line] ?? 0))
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

/** Matches characters that take no column, because a terminal draws them in the column of the character before. */
const COMBINING = /[\p{Mn}\p{Me}\p{Cf}]/gu

/** Matches characters that take two columns: Chinese, Japanese, Korean and full-width characters, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/gu

/** Returns the number of columns that a text takes in a terminal. */
const widthOf = (text: string): number => {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  const shown = text.replace(COMBINING, "")
  return [...shown].length + (shown.match(WIDE)?.length ?? 0)
}

/** Formats named values, one per line. */
export const namedValues = (values: ReadonlyArray<readonly [name: string, value: string]>): string => {
  const width = Math.max(...values.map(([name]) => name.length))
  return values.map(([name, value]) => `${name.padEnd(width)}  ${printableLine(value)}`).join("\n")
}
