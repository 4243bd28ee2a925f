/**
 * A value as JSON that Postgres takes: amounts as digits, and no character it has no place for.
 *
 * A NUL or half a surrogate pair, which JSON can carry and Postgres cannot, becomes the replacement character.
 */
export const jsonText = (value: unknown): string => JSON.stringify(value ?? null, fit)

const fit = (_: string, member: unknown): unknown => {
  if (typeof member === "bigint") return member.toString()
  return typeof member === "string" ? member.replaceAll("\0", "\ufffd").replace(HALF_A_PAIR, "\ufffd") : member
}

const HALF_A_PAIR = /\p{Surrogate}/gu
