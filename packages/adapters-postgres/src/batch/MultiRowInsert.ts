/**
 * An INSERT of any number of rows with a fixed number of parameters: one array a column.
 */
import type { Call, Statement } from "./DedicatedConnection.ts"

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
  return (rows) => ({ statement, values: values.map((value) => rows.map(value)) })
}
