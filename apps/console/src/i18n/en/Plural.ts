/**
 * Writes a formatted count with the singular or the plural of a noun. Indonesian nouns have no plural.
 */
export const plural = (count: string, one: string, other: string): string => `${count} ${count === "1" ? one : other}`
