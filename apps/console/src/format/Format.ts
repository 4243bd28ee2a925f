/**
 * Formats money, counts and times for a language. Amounts in USD are formatted from their digits, because a
 * floating-point number could not contain every micro-USD of a large amount.
 */
import { type Language, useLanguage } from "../i18n/Language.ts"
import { nowMillis } from "../state/Clock.ts"

const ZONE = "Asia/Jakarta"
const LOCALES: { readonly [L in Language]: string } = { id: "id-ID", en: "en-US" }

/** Inserts the decimal point before the last `decimals` digits. */
const decimalOf = (digits: string, decimals: number): `${number}` => {
  const sign = digits.startsWith("-") ? "-" : ""
  const padded = digits.slice(sign.length).padStart(decimals + 1, "0")
  return `${sign}${padded.slice(0, -decimals)}.${padded.slice(-decimals)}` as `${number}`
}

/** Removes the space between the currency and the amount: `Rp50.000`, as Indonesian texts write it. */
const closed = (text: string): string => text.replace(/(Rp|\$)\s/u, "$1")

const currency = (locale: string, code: "IDR" | "USD", decimals: readonly [number, number]) =>
  new Intl.NumberFormat(locale, {
    style: "currency",
    currency: code,
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: decimals[0],
    maximumFractionDigits: decimals[1]
  })

export interface Format {
  /** Formats an amount in micro-USD exactly, in USD. */
  readonly usd: (micro: string | number | bigint) => string
  /** Formats a decimal number of micro-USD, such as a cost, in USD. Rounds to a millionth of a dollar. */
  readonly cost: (micro: string) => string
  /** Formats a decimal number of USD. */
  readonly dollars: (amount: string) => string
  readonly idr: (amount: number) => string
  readonly count: (amount: number) => string
  /** Formats a count in a short form, such as `1,2 jt`. */
  readonly short: (amount: number) => string
  /** Formats a day `YYYY-MM-DD` of Jakarta. */
  readonly day: (day: string) => string
  readonly shortDay: (day: string) => string
  readonly month: (day: string) => string
  readonly time: (instant: string) => string
}

export const formatOf = (language: Language): Format => {
  const locale = LOCALES[language]
  const [usd, idr] = [currency(locale, "USD", [2, 6]), currency(locale, "IDR", [0, 0])]
  const count = new Intl.NumberFormat(locale)
  const short = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 3 })
  const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" })
  const shortDay = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" })
  const month = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric", timeZone: "UTC" })
  const clock = new Intl.DateTimeFormat(locale === "en-US" ? "en-GB" : locale, {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZone: ZONE
  })
  const dollars = (amount: string) => closed(usd.format(amount as `${number}`))
  return {
    usd: (micro) => dollars(decimalOf(String(micro), 6)),
    cost: (micro) => {
      const [whole = "0", fraction = ""] = micro.split(".")
      return dollars(`${decimalOf(whole, 6)}${fraction}`)
    },
    dollars,
    idr: (amount) => closed(idr.format(amount)),
    count: (amount) => count.format(amount),
    short: (amount) => short.format(amount),
    day: (date) => day.format(new Date(`${date}T00:00:00Z`)),
    shortDay: (date) => shortDay.format(new Date(`${date}T00:00:00Z`)),
    month: (date) => month.format(new Date(`${date}T00:00:00Z`)),
    time: (instant) => `${clock.format(new Date(instant))} WIB`
  }
}

const formats = new Map<Language, Format>()

export const useFormat = (): Format => {
  const language = useLanguage()
  const format = formats.get(language) ?? formatOf(language)
  formats.set(language, format)
  return format
}

const JAKARTA_OFFSET_MILLIS = 7 * 3_600_000
const DAY_MILLIS = 24 * 3_600_000

/** Returns the day of Jakarta `daysAgo` days before now, as `YYYY-MM-DD`. */
export const jakartaDay = (daysAgo = 0): string =>
  new Date(nowMillis() + JAKARTA_OFFSET_MILLIS - daysAgo * DAY_MILLIS).toISOString().slice(0, 10)

/** Returns all days from the first to the last, both included. */
export const daysBetween = (from: string, to: string): ReadonlyArray<string> => {
  const days: Array<string> = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MILLIS)
    days.push(new Date(at).toISOString().slice(0, 10))
  return days
}
