/**
 * What broke, in the words of whoever noticed first: a defect has layers, and the innermost error says most.
 */
import * as Cause from "effect/Cause"

export const troubleOf = (cause: Cause.Cause<unknown>): string => {
  const innermost = layersOf(Cause.squash(cause)).at(-1)
  if (!(innermost instanceof Error)) return String(innermost)
  return innermost.message === "" ? innermost.name : innermost.message
}

/** Whether the database, or the way to it, is at fault rather than this program. */
export const isOfDatabase = (cause: Cause.Cause<unknown>): boolean =>
  layersOf(Cause.squash(cause)).some(
    (layer) => hasMember(layer, "_tag", /^SqlError$/) || hasMember(layer, "code", /^(E[A-Z]{3,}|[0-9A-Z]{5})$/)
  )

const layersOf = (error: unknown): ReadonlyArray<unknown> => {
  // A host with several addresses fails once for each of them.
  const inner = error instanceof AggregateError ? error.errors[0] : error instanceof Error ? error.cause : undefined
  return inner === undefined || inner === null ? [error] : [error, ...layersOf(inner)]
}

const hasMember = (value: unknown, name: string, form: RegExp): boolean =>
  typeof value === "object" &&
  value !== null &&
  name in value &&
  form.test(String((value as Readonly<Record<string, unknown>>)[name]))
