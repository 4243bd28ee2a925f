/**
 * An INSERT of any number of rows with a fixed number of parameters: one array a column.
 */
import type { Call, Statement } from "./DedicatedConnection.ts"

/**
 * An array as Postgres reads it. The driver would escape every element, which costs more than the rest of a statement;
 * what is written here are ids, numbers, names of a fixed set and times, none of which can hold a quote or a backslash.
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

export const insertInto = <Row>(table: string, columns: Columns<Row>): ((rows: ReadonlyArray<Row>) => Call) => {
  const types = Object.values(columns).map(([type]) => type)
  const values = Object.values(columns).map(([, value]) => value)
  const statement: Statement = {
    name: `insert_${table}`,
    text: `INSERT INTO ${table} (${Object.keys(columns).join(", ")})
      SELECT * FROM unnest(${types.map((type, i) => `$${i + 1}::${type}[]`).join(", ")})`
  }
  return (rows) => ({ statement, values: values.map((value) => arrayOf(rows.map(value))) })
}
