/**
 * Reads the amounts and times that a user types, and writes them as a user would type them.
 */
import type { Language } from "../i18n/Language.ts"

/** Returns the micro-USD of a decimal number of dollars with a point or a comma; undefined for any other text. */
export const usdMicroOf = (typed: string): number | undefined => {
  const [, whole, fraction = ""] = /^\$?\s*(\d{1,9})(?:[.,](\d{1,6}))?$/.exec(typed.trim()) ?? []
  return whole === undefined ? undefined : Number.parseInt(`${whole}${fraction.padEnd(6, "0")}`, 10)
}

/** Returns a whole number that a user typed with or without separators; undefined for any other text. */
export const countOf = (typed: string): number | undefined => {
  const digits = typed.replace(/[.,\s]/g, "")
  return /^\d{1,12}$/.test(digits) ? Number.parseInt(digits, 10) : undefined
}

/** Returns the whole rupiah that a user typed, with or without `Rp` and separators; undefined for any other text. */
export const rupiahOf = (typed: string): number | undefined => countOf(typed.trim().replace(/^Rp/i, ""))

const DECIMAL: { readonly [L in Language]: string } = { id: ",", en: "." }

/** Returns micro-USD as a decimal number of dollars without trailing zeros: `2.5`, or `2,5` in Indonesian. */
export const typedDollars = (usdMicro: number, language: Language): string => {
  const digits = String(usdMicro).padStart(7, "0")
  const fraction = digits.slice(-6).replace(/0+$/, "")
  return `${digits.slice(0, -6)}${fraction === "" ? "" : `${DECIMAL[language]}${fraction}`}`
}

const JAKARTA_OFFSET_MILLIS = 7 * 3_600_000

/** Returns the instant that a field of the type `datetime-local` states in WIB; undefined if the text is not valid. */
export const instantOf = (typed: string): string | undefined => {
  const millis = Date.parse(`${typed}Z`) - JAKARTA_OFFSET_MILLIS
  return Number.isNaN(millis) ? undefined : new Date(millis).toISOString()
}

/** Returns the date and the time of an instant in WIB, for a field of the type `datetime-local`. */
export const typedTime = (instant: string): string =>
  new Date(Date.parse(instant) + JAKARTA_OFFSET_MILLIS).toISOString().slice(0, 16)
