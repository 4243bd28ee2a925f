/**
 * Everything a transaction of the ledger writes, as one statement: atomic by itself, so that a decision over remembered
 * rows needs neither BEGIN nor COMMIT, and one answer instead of five.
 *
 * Each part says what it writes and when the rows were as they had been decided over; unless all of them were, nothing
 * is written at all.
 */
import type { Call, Statement } from "./DedicatedConnection.ts"

export interface Part {
  readonly name: string
  /** Common table expressions whose parameters are numbered from `first` on; their names are this part's own. */
  readonly writes: (first: number) => string
  readonly precondition: (first: number) => string
}

export interface WriteStatement {
  readonly part: Part
  readonly values: ReadonlyArray<unknown>
}

/** Parts in the order in which they lock rows; undefined where there is nothing to write. */
export const inOneStatement = (writings: ReadonlyArray<WriteStatement>): Call | undefined =>
  writings.length === 0
    ? undefined
    : { statement: statementOf(writings), values: writings.flatMap(({ values }) => values) }

const statements = new Map<string, Statement>()

const statementOf = (writings: ReadonlyArray<WriteStatement>): Statement => {
  const name = `write_${writings.map(({ part }) => part.name).join("_")}`
  const known = statements.get(name)
  if (known !== undefined) return known
  let first = 1
  const placed = writings.map(({ part, values }) => {
    const at = first
    first += values.length
    return { writes: part.writes(at), precondition: part.precondition(at) }
  })
  const text = `
    WITH ${placed.map(({ writes }) => writes).join(", ")}
    SELECT refuse_stale(${placed.map(({ precondition }) => `(${precondition})`).join(" AND ")})`
  const statement = { name, text }
  statements.set(name, statement)
  return statement
}
