/**
 * What `--json` prints: one document, members in snake_case, timestamps in ISO 8601 with milliseconds, amounts of money
 * as strings of digits, token counts as numbers.
 */
export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [member: string]: Json }

export const encode = (document: Json): string => JSON.stringify(document, null, 2)

/** Tokens or rows. The database keeps every count below 2^53, so none is changed by becoming a number. */
export const count = (howMany: bigint): number => Number(howMany)

export const timestamp = (date: Date): string => date.toISOString()
