/**
 * Any number of rows in a fixed number of parameters: one array a column.
 */

/**
 * An array as Postgres reads it. The driver would escape every element, which costs more than the rest of a statement;
 * what is written here are ids, numbers and names of a fixed set, none of which can hold a quote or a backslash.
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

/** By column name: its type in the database, and where in a row its value is. */
export type Columns<Row> = Readonly<Record<string, readonly [type: string, value: (row: Row) => unknown]>>

export interface RowArrays<Row> {
  /** The columns, as a list of an INSERT or an alias has them. */
  readonly names: string
  /** The rows as a table, from this parameter on. */
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
