/**
 * All writes of a ledger transaction as one statement. The statement is atomic by itself, so a decision over cached rows
 * needs neither BEGIN nor COMMIT, and one response instead of five.
 *
 * Each part has its writes and a precondition: the rows are still those that the decision was made over. Unless all
 * preconditions hold, nothing is written.
 */
import type { BoundStatement, Statement } from "./DedicatedConnection.ts"

export interface Part {
  readonly name: string
  /** Common table expressions whose parameters are numbered from `first` on, with names that no other part uses. */
  readonly writes: (first: number) => string
  readonly precondition: (first: number) => string
}

export interface WriteStatement {
  readonly part: Part
  readonly values: ReadonlyArray<unknown>
}

/** Parts in the order in which they lock rows; undefined when there is nothing to write. */
export const inOneStatement = (parts: ReadonlyArray<WriteStatement>): BoundStatement | undefined =>
  parts.length === 0 ? undefined : { statement: statementOf(parts), values: parts.flatMap(({ values }) => values) }

const statements = new Map<string, Statement>()

const statementOf = (parts: ReadonlyArray<WriteStatement>): Statement => {
  const name = `write_${parts.map(({ part }) => part.name).join("_")}`
  const known = statements.get(name)
  if (known !== undefined) return known
  let first = 1
  const placed = parts.map(({ part, values }) => {
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
