/**
 * Builds values for SQL statements: ids of new rows, array literals and JSON text.
 */
import { randomBytes } from "node:crypto"
import { RANDOM_BYTES_PER_UUID, uuidV7 } from "@tollgate/domain/operations/UuidV7"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/**
 * Generates the id of a new row. An id begins with its creation time, so new rows are added near the end of an index.
 */
export const nextUuidV7: Effect.Effect<string> = Effect.map(Clock.currentTimeMillis, (now) =>
  uuidV7(now, randomBytes(RANDOM_BYTES_PER_UUID))
)

/**
 * Returns a Postgres array literal. Elements are not escaped, because the driver's escaping takes more time than the
 * rest of a statement. Callers pass only values that contain neither quotes nor backslashes, such as ids, numbers,
 * times, hexadecimal texts and validated names.
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

/** Maps each column name to its database type and to a function that returns its value for a row. */
export type Columns<Row> = Readonly<Record<string, readonly [type: string, value: (row: Row) => unknown]>>

/** Passes any number of rows to a statement, with one array parameter per column. */
export interface RowArrays<Row> {
  /** Comma-separated column names, for an INSERT or a table alias. */
  readonly names: string
  /**
   * Returns a subquery with one row for each element of the arrays. Its parameters are numbered from `firstParameter`
   * on. Each array has an `unnest` call of its own in the SELECT list, because one call with 26 arrays in a FROM clause
   * takes 0.6 milliseconds longer.
   */
  readonly unnested: (firstParameter: number) => string
  readonly arrays: (rows: ReadonlyArray<Row>) => ReadonlyArray<string>
}

export const columnsOf = <Row>(columns: Columns<Row>): RowArrays<Row> => {
  const types = Object.entries(columns).map(([name, [type]]) => [name, type] as const)
  const values = Object.values(columns).map(([, value]) => value)
  return {
    names: Object.keys(columns).join(", "),
    unnested: (first) =>
      `(SELECT ${types.map(([name, type], i) => `unnest($${first + i}::${type}[]) AS ${name}`).join(", ")})`,
    arrays: (rows) => values.map((value) => arrayOf(rows.map(value)))
  }
}

/**
 * Returns the JSON text of a value. A bigint becomes a string of digits. In a text, but not in the name of a member, a
 * NUL or an unpaired surrogate, which Postgres cannot store, becomes the replacement character.
 */
export const jsonText = (value: unknown): string => JSON.stringify(value ?? null, storable)

const storable = (_: string, member: unknown): unknown => {
  if (typeof member === "bigint") return member.toString()
  return typeof member === "string" ? member.replaceAll("\0", "\ufffd").replace(UNPAIRED_SURROGATE, "\ufffd") : member
}

const UNPAIRED_SURROGATE = /\p{Surrogate}/gu
