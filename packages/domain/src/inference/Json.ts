/**
 * Reads parsed JSON of unknown shape. An unexpected value, such as a negative count, is read as undefined, as an empty
 * array or as an empty text.
 */
export type JsonObject = { readonly [member: string]: unknown }

export const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined

export const asArray = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

export const asText = (value: unknown): string => (typeof value === "string" ? value : "")

export const asCount = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined
