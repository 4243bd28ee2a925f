/** Reads the array parameters of the statement that writes the decisions of a ledger transaction. */
import { Refused } from "./Rows.ts"

export type Column = ReadonlyArray<string | null>

export const columnOf = (value: unknown): Column => {
  const literal = value as string
  if (literal === "{}") return []
  return literal
    .slice(1, -1)
    .split(",")
    .map((element) => (element === "NULL" ? null : element.startsWith('"') ? element.slice(1, -1) : element))
}

export const text = (columns: ReadonlyArray<Column>, column: number, row: number): string => {
  const value = columns[column]?.[row]
  if (typeof value !== "string") throw new Refused("23502", `column ${column} is null`)
  return value
}

export const big = (columns: ReadonlyArray<Column>, column: number, row: number): bigint =>
  BigInt(text(columns, column, row))

export const optional = (columns: ReadonlyArray<Column>, column: number, row: number): string | null =>
  columns[column]?.[row] ?? null

export const optionalBig = (columns: ReadonlyArray<Column>, column: number, row: number): bigint | null => {
  const value = optional(columns, column, row)
  return value === null ? null : BigInt(value)
}

export const check = (holds: boolean, constraint: string): void => {
  if (!holds) throw new Refused("23514", constraint)
}
