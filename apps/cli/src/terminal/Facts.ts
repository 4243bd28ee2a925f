/**
 * One thing's facts under each other, the values in one column.
 */
import { printableLine } from "./Printable.ts"

export const facts = (lines: ReadonlyArray<readonly [name: string, value: string]>): string => {
  const width = Math.max(...lines.map(([name]) => name.length))
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${printableLine(value)}`).join("\n")
}
