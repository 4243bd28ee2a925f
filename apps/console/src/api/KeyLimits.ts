/**
 * Converts the limits of an API key to the values of a form and back (docs/reference/key-limits.md).
 */
import { countOf, instantOf, typedDollars, typedTime, usdMicroOf } from "../format/Amounts.ts"
import type { Language } from "../i18n/Language.ts"
import { nowMillis } from "../state/Clock.ts"

export const spendMembers = ["spend_usd_micro_per_day", "spend_usd_micro_per_month", "spend_usd_micro_total"] as const

export const countMembers = ["requests_per_minute", "tokens_per_minute", "concurrent_requests"] as const

type Amounts = Record<(typeof spendMembers)[number] | (typeof countMembers)[number], number | null>

/** The limits of a key in requests and responses; null means that there is no such limit. */
export interface KeyLimits extends Amounts {
  expires_at: string | null
  models: Array<string> | null
}

export type KeyLimitsChange = Partial<KeyLimits>
export type LimitMember = keyof KeyLimits

/** The values of a form by the names of its fields. */
export type LimitValues = Readonly<Record<string, string>>

const MODEL = "models."

/** Returns the name of the field that allows a model. */
export const modelField = (model: string): string => `${MODEL}${model}`

/** Returns the values of the form for these limits. An empty value means that there is no such limit. */
export const typedLimits = (limits: KeyLimits | null, language: Language): LimitValues => {
  const values: Record<string, string> = {}
  for (const member of spendMembers)
    values[member] = textOf(limits?.[member], (amount) => typedDollars(amount, language))
  for (const member of countMembers) values[member] = textOf(limits?.[member], String)
  values.expires_at = textOf(limits?.expires_at, typedTime)
  for (const model of limits?.models ?? []) values[modelField(model)] = "on"
  return values
}

const textOf = <A>(limit: A | null | undefined, write: (limit: A) => string): string =>
  limit === null || limit === undefined ? "" : write(limit)

export interface ReadLimits {
  readonly change: KeyLimitsChange
  /** The members whose values are not understood. */
  readonly malformed: ReadonlySet<LimitMember>
}

/**
 * Reads the values of a form that began with the limits `before`. Only limits that the user changed are part of the
 * change, so that an unchanged expiry keeps its seconds.
 */
export const readLimits = (before: KeyLimits | null, values: LimitValues, language: Language): ReadLimits => {
  const unchanged = typedLimits(before, language)
  const change: KeyLimitsChange = {}
  const malformed = new Set<LimitMember>()
  const readValue = <A>(
    member: LimitMember,
    read: (typed: string) => A | undefined,
    set: (value: A | null) => void
  ) => {
    const typed = values[member] ?? ""
    if (typed === (unchanged[member] ?? "")) return
    const value = typed === "" ? null : read(typed)
    if (value === undefined) malformed.add(member)
    else set(value)
  }
  for (const member of spendMembers) {
    readValue(
      member,
      (typed) => usdMicroOf(typed, language),
      (value) => {
        change[member] = value
      }
    )
  }
  for (const member of countMembers) {
    readValue(
      member,
      (typed) => countOf(typed, language),
      (value) => {
        change[member] = value
      }
    )
  }
  readValue("expires_at", instantOf, (value) => {
    change.expires_at = value
  })
  const chosen = chosenModels(values)
  if (chosen.join("\n") !== chosenModels(unchanged).join("\n")) change.models = chosen.length === 0 ? null : chosen
  return { change, malformed }
}

const chosenModels = (values: LimitValues): Array<string> =>
  Object.keys(values)
    .filter((name) => name.startsWith(MODEL))
    .map((name) => name.slice(MODEL.length))
    .sort()

/** True if the expiry has passed. */
export const hasExpired = (limits: KeyLimits | null): boolean =>
  limits !== null && limits.expires_at !== null && Date.parse(limits.expires_at) <= nowMillis()
