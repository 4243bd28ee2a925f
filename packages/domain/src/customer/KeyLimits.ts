/**
 * The limits of an API key: its spend, its rate, its concurrent requests, its expiry and the models that it may call
 * (docs/reference/key-limits.md).
 *
 * The ledger checks the budgets, the rate limits and the limit of concurrent requests, because these limits apply to
 * the requests of all nodes together. A node checks the expiry and the models with the cached key. The admission checks
 * the expiry again.
 */
import * as Schema from "effect/Schema"
import type { CountedLimits } from "../ledger/KeyCounts.ts"
import { toUsdPico, UsdMicro } from "../money/UsdMicro.ts"
import type { UsdPico } from "../money/UsdPico.ts"
import { isPublicName } from "../validation/Text.ts"
import { listWithin } from "../validation/Validation.ts"

/** An undefined member means that there is no such limit. */
export interface KeyLimits {
  /** The maximum spend of a calendar day in Asia/Jakarta. */
  readonly spendPerDay: UsdMicro | undefined
  /** The maximum spend of a calendar month in Asia/Jakarta. */
  readonly spendPerMonth: UsdMicro | undefined
  readonly spendTotal: UsdMicro | undefined
  readonly requestsPerMinute: number | undefined
  readonly tokensPerMinute: number | undefined
  readonly concurrentRequests: number | undefined
  /** The time from which the key is refused. */
  readonly expiresAt: Date | undefined
  /** The public names of the models that the key may call. */
  readonly models: ReadonlyArray<string> | undefined
}

export const noLimits: KeyLimits = {
  spendPerDay: undefined,
  spendPerMonth: undefined,
  spendTotal: undefined,
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrentRequests: undefined,
  expiresAt: undefined,
  models: undefined
}

/** New names in the list of allowed models are names that no model has, or names of hidden models. */
export class UnknownModels extends Schema.TaggedError<UnknownModels>()("UnknownModels", {
  models: Schema.Array(Schema.String)
}) {}

/** A budget is at most 1,000,000 USD, so that every budget in pico-USD fits a 64-bit integer. */
export const MAX_SPEND_USD_MICRO = 1_000_000_000_000
export const MAX_REQUESTS_PER_MINUTE = 1_000_000
export const MAX_TOKENS_PER_MINUTE = 1_000_000_000
export const MAX_CONCURRENT_REQUESTS = 10_000
export const MAX_MODELS = 100

const wholeNumber = (min: number, max: number) =>
  Schema.Number.pipe(
    Schema.filter((n) => (Number.isInteger(n) && n >= min && n <= max) || `a whole number from ${min} to ${max}`, {
      jsonSchema: { type: "integer", minimum: min, maximum: max }
    })
  )

const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,3})?Z$/

/**
 * Returns whether a text is a time. `Date` reads the 30th of February as a day of March, so a key with this expiry
 * would be valid for longer.
 */
const isInstant = (text: string): boolean => {
  const [, seconds] = INSTANT.exec(text) ?? []
  const instant = new Date(text)
  return seconds !== undefined && !Number.isNaN(instant.getTime()) && instant.toISOString().startsWith(seconds)
}

const Instant = Schema.String.pipe(Schema.filter((text) => isInstant(text) || "a time such as 2027-01-31T17:00:00Z"))

const ModelName = Schema.String.pipe(Schema.filter((text) => isPublicName(text) || "the public name of a model"))
const ModelNames = listWithin(ModelName, 1, MAX_MODELS, `1 to ${MAX_MODELS} public names of models`)

const limit = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

/**
 * Limits, as a caller sends them. `changeLimits` leaves the limit of an absent member unchanged, and removes a limit
 * that is null. An unknown member is refused: a misspelt limit would otherwise be ignored, and the key would have no
 * such limit.
 */
export const KeyLimitsChange = Schema.Struct({
  spend_usd_micro_per_day: limit(wholeNumber(0, MAX_SPEND_USD_MICRO)),
  spend_usd_micro_per_month: limit(wholeNumber(0, MAX_SPEND_USD_MICRO)),
  spend_usd_micro_total: limit(wholeNumber(0, MAX_SPEND_USD_MICRO)),
  requests_per_minute: limit(wholeNumber(1, MAX_REQUESTS_PER_MINUTE)),
  tokens_per_minute: limit(wholeNumber(1, MAX_TOKENS_PER_MINUTE)),
  concurrent_requests: limit(wholeNumber(1, MAX_CONCURRENT_REQUESTS)),
  expires_at: limit(Instant),
  models: limit(ModelNames)
}).annotations({ parseOptions: { onExcessProperty: "error" } })
export type KeyLimitsChange = typeof KeyLimitsChange.Type

/** Returns the change that sets exactly these limits: an absent limit is removed. */
export const replacementOf = (limits: KeyLimitsChange): Required<KeyLimitsChange> => ({
  spend_usd_micro_per_day: limits.spend_usd_micro_per_day ?? null,
  spend_usd_micro_per_month: limits.spend_usd_micro_per_month ?? null,
  spend_usd_micro_total: limits.spend_usd_micro_total ?? null,
  requests_per_minute: limits.requests_per_minute ?? null,
  tokens_per_minute: limits.tokens_per_minute ?? null,
  concurrent_requests: limits.concurrent_requests ?? null,
  expires_at: limits.expires_at ?? null,
  models: limits.models ?? null
})

export const changeLimits = (limits: KeyLimits, change: KeyLimitsChange): KeyLimits => {
  const changed = <A, B>(
    before: A | undefined,
    value: B | null | undefined,
    convert: (value: B) => A
  ): A | undefined => (value === undefined ? before : value === null ? undefined : convert(value))
  const amount = (value: number) => UsdMicro(BigInt(value))
  const same = <A>(value: A) => value
  return {
    spendPerDay: changed(limits.spendPerDay, change.spend_usd_micro_per_day, amount),
    spendPerMonth: changed(limits.spendPerMonth, change.spend_usd_micro_per_month, amount),
    spendTotal: changed(limits.spendTotal, change.spend_usd_micro_total, amount),
    requestsPerMinute: changed(limits.requestsPerMinute, change.requests_per_minute, same),
    tokensPerMinute: changed(limits.tokensPerMinute, change.tokens_per_minute, same),
    concurrentRequests: changed(limits.concurrentRequests, change.concurrent_requests, same),
    expiresAt: changed(limits.expiresAt, change.expires_at, (text) => new Date(text)),
    models: changed(limits.models, change.models, (names) => [...new Set(names)].sort())
  }
}

/** Returns whether the ledger counts the requests of a key with these limits. */
export const isCounted = (limits: KeyLimits): boolean =>
  limits.spendPerDay !== undefined ||
  limits.spendPerMonth !== undefined ||
  limits.spendTotal !== undefined ||
  limits.requestsPerMinute !== undefined ||
  limits.tokensPerMinute !== undefined ||
  limits.concurrentRequests !== undefined

/** Returns the limits that the ledger checks. */
export const countedLimits = (limits: KeyLimits): CountedLimits => ({
  spendPerDay: picoOf(limits.spendPerDay),
  spendPerMonth: picoOf(limits.spendPerMonth),
  spendTotal: picoOf(limits.spendTotal),
  requestsPerMinute: limits.requestsPerMinute,
  tokensPerMinute: limits.tokensPerMinute === undefined ? undefined : BigInt(limits.tokensPerMinute),
  concurrentRequests: limits.concurrentRequests
})

const picoOf = (amount: UsdMicro | undefined): UsdPico | undefined =>
  amount === undefined ? undefined : toUsdPico(amount)

export const isUnlimited = (limits: KeyLimits): boolean =>
  !isCounted(limits) && limits.expiresAt === undefined && limits.models === undefined

/** The limits that a node checks with the cached key, before the request reaches the ledger. */
export interface LocalLimits {
  /** True if the key is a limited key: the ledger checks the other limits of the key. */
  readonly counted: boolean
  readonly expiresAtMillis: number
  /** The models that the key may call; undefined if it may call every model. */
  readonly models: ReadonlySet<string> | undefined
}

export const allowsModel = (limits: LocalLimits | undefined, publicName: string): boolean =>
  limits?.models === undefined || limits.models.has(publicName)

export const hasExpired = (limits: LocalLimits | undefined, nowMillis: number): boolean =>
  limits !== undefined && nowMillis >= limits.expiresAtMillis

/** Returns the limits that a node caches with a key; undefined if the key has no limit. */
export const localLimits = (
  counted: boolean,
  expiresAt: Date | undefined,
  models: ReadonlyArray<string> | undefined
): LocalLimits | undefined =>
  !counted && expiresAt === undefined && models === undefined
    ? undefined
    : {
        counted,
        expiresAtMillis: expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
        models: models && new Set(models)
      }
