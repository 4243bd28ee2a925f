/**
 * Reads the amounts and times that a user types, and writes them as a user would type them.
 *
 * An amount is read with the separators of the language of the console, which also shows amounts with these separators.
 * A number has either no group separators, or one before each group of three digits. Any other text is refused, because
 * a misread separator can change an amount by a factor of a thousand. `1.000` dollars is accepted in both languages: it
 * is 1,000 in Indonesian and 1 in English. Therefore the forms show the amount that was read.
 */
import type { Language } from "../i18n/Language.ts"

const DECIMAL: { readonly [L in Language]: string } = { id: ",", en: "." }

const WHOLE: { readonly [L in Language]: RegExp } = {
  id: /^(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)$/,
  en: /^(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)$/
}

/** Returns the digits of a whole number; undefined for any other text, and for more than `maxDigits` digits. */
const wholeOf = (typed: string, language: Language, maxDigits: number): string | undefined => {
  const digits = typed.replace(/\D/g, "")
  return WHOLE[language].test(typed) && digits.length <= maxDigits ? digits : undefined
}

/**
 * Returns the micro-USD of an amount in dollars with at most nine digits before the decimals and at most six decimals;
 * undefined for any other text.
 */
export const usdMicroOf = (typed: string, language: Language): number | undefined => {
  const [first = "", fraction = "0", ...rest] = typed
    .trim()
    .replace(/^\$\s*/, "")
    .split(DECIMAL[language])
  const whole = wholeOf(first, language, 9)
  if (whole === undefined || rest.length > 0 || !/^\d{1,6}$/.test(fraction)) return undefined
  return Number.parseInt(`${whole}${fraction.padEnd(6, "0")}`, 10)
}

/** Returns the whole number of at most 12 digits that a user typed; undefined for any other text. */
export const countOf = (typed: string, language: Language): number | undefined => {
  const digits = wholeOf(typed.trim(), language, 12)
  return digits === undefined ? undefined : Number.parseInt(digits, 10)
}

/** Returns the whole rupiah that a user typed, with or without `Rp`; undefined for any other text. */
export const rupiahOf = (typed: string, language: Language): number | undefined =>
  countOf(typed.trim().replace(/^Rp\.?/i, ""), language)

/** Returns micro-USD as a number of dollars whose decimals do not end with zeros: `2.5`, or `2,5` in Indonesian. */
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

const LAST_TYPED_TIME = "9999-12-31T23:59"

/**
 * Returns the date and the time of an instant in WIB, for a field of the type `datetime-local`. The last seven hours of
 * the year 9999 in UTC are in the year 10000 in WIB, for which such a field has no value. They get the last value.
 */
export const typedTime = (instant: string): string => {
  const shown = new Date(Date.parse(instant) + JAKARTA_OFFSET_MILLIS).toISOString()
  return shown.startsWith("+") ? LAST_TYPED_TIME : shown.slice(0, LAST_TYPED_TIME.length)
}
