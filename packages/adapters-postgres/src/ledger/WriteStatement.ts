/**
 * Combines all writes of a ledger transaction into one atomic statement. A transaction that decides from cached rows
 * therefore needs neither BEGIN nor COMMIT, and takes one round trip.
 *
 * Each part consists of writes and a precondition. The precondition is true while the rows still have the values that
 * the decision is based on. If any precondition is false, nothing is written.
 */
import type { BoundStatement, Statement } from "./DedicatedConnection.ts"

export interface Part {
  readonly name: string
  /**
   * Returns common table expressions. Their parameters are numbered from `first` on, and no other part uses their
   * names.
   */
  readonly writes: (first: number) => string
  readonly precondition: (first: number) => string
}

export interface WriteStatement {
  readonly part: Part
  readonly values: ReadonlyArray<unknown>
}

/**
 * Combines the parts, which must be in the order in which they lock rows. Postgres executes each part when it evaluates
 * the part's precondition, and it evaluates the preconditions from left to right. Returns undefined when there are no
 * parts.
 */
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
