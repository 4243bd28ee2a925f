/**
 * Values in the form that Postgres takes: ids of new rows, arrays of columns, JSON.
 */
import { randomBytes } from "node:crypto"
import { RANDOM_BYTES_PER_UUID, uuidV7 } from "@tollgate/domain/operations/UuidV7"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** The id of a new row. Ids sort by time, so new rows land at the end of an index. */
export const nextUuidV7: Effect.Effect<string> = Effect.map(Clock.currentTimeMillis, (now) =>
  uuidV7(now, randomBytes(RANDOM_BYTES_PER_UUID))
)

/**
 * An array literal. Elements are not escaped, because the driver's escaping costs more than the rest of a statement.
 * Callers pass only ids, numbers and names of a fixed set, none of which can contain a quote or a backslash.
 */
export const arrayOf = (values: ReadonlyArray<unknown>): string => {
  let text = "{"
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (i > 0) text += ","
    text += value === undefined || value === null ? "NULL" : typeof value === "string" ? `"${value}"` : String(value)
  }
  return `${text}}`
}

/** By column name: its type in the database, and how to read its value from a row. */
export type Columns<Row> = Readonly<Record<string, readonly [type: string, value: (row: Row) => unknown]>>

/** Any number of rows in a fixed number of parameters: one array a column. */
export interface RowArrays<Row> {
  /** The columns, as an INSERT or an alias lists them. */
  readonly names: string
  /** The rows as a table whose parameters start at this number. */
  readonly unnested: (firstParameter: number) => string
  readonly arrays: (rows: ReadonlyArray<Row>) => ReadonlyArray<string>
}

export const columnsOf = <Row>(columns: Columns<Row>): RowArrays<Row> => {
  const types = Object.values(columns).map(([type]) => type)
  const values = Object.values(columns).map(([, value]) => value)
  return {
    names: Object.keys(columns).join(", "),
    unnested: (first) => `unnest(${types.map((type, i) => `$${first + i}::${type}[]`).join(", ")})`,
    arrays: (rows) => values.map((value) => arrayOf(rows.map(value)))
  }
}

/**
 * JSON text of any value. Amounts become digits. A NUL or an unpaired surrogate, which Postgres cannot store, becomes
 * the replacement character.
 */
export const jsonText = (value: unknown): string => JSON.stringify(value ?? null, storable)

const storable = (_: string, member: unknown): unknown => {
  if (typeof member === "bigint") return member.toString()
  return typeof member === "string" ? member.replaceAll("\0", "\ufffd").replace(UNPAIRED_SURROGATE, "\ufffd") : member
}

const UNPAIRED_SURROGATE = /\p{Surrogate}/gu
