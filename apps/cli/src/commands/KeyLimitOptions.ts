/**
 * Defines the options that set the limits of an API key, and formats the limits.
 */
import * as Options from "@effect/cli/Options"
import { countedLimits, isUnlimited, type KeyLimits, KeyLimitsChange } from "@tollgate/domain/customer/KeyLimits"
import { availableBudget, type KeyCounts } from "@tollgate/domain/ledger/KeyCounts"
import { toUsdPico, type UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { toExactUsdMicro, type UsdPico } from "@tollgate/domain/money/UsdPico"
import { validationFailed } from "@tollgate/domain/validation/Validation"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { timestamp } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"

const NONE = "none"

const limit = (name: string, placeholder: string, description: string) =>
  Options.text(name).pipe(
    Options.withPseudoName(placeholder),
    Options.withDescription(`${description} "${NONE}" removes the limit.`),
    Options.optional
  )

export const limitOptions = {
  spend_usd_micro_per_day: limit("usd-micro-per-day", "N", "Maximum spend of a day in Asia/Jakarta, in micro-USD."),
  spend_usd_micro_per_month: limit(
    "usd-micro-per-month",
    "N",
    "Maximum spend of a month in Asia/Jakarta, in micro-USD."
  ),
  spend_usd_micro_total: limit("usd-micro-total", "N", "Maximum spend in total, in micro-USD."),
  requests_per_minute: limit("requests-per-minute", "N", "Maximum number of requests per minute."),
  tokens_per_minute: limit("tokens-per-minute", "N", "Maximum number of tokens per minute."),
  concurrent_requests: limit("concurrent-requests", "N", "Maximum number of requests that run at the same time."),
  expires_at: limit("expires-at", "TIME", "Time from which the key is refused, such as 2027-01-31T17:00:00Z."),
  models: limit("models", "NAMES", "Public names of the models that the key may call, separated by commas.")
}

type LimitName = keyof typeof limitOptions
type GivenLimits = Readonly<Record<LimitName, Option.Option<string>>>

const decode = Schema.decodeUnknown(KeyLimitsChange, { errors: "all" })

/** Reads the given options. A wrong value is reported as a wrong command line. */
export const limitsChange = (given: GivenLimits): Effect.Effect<KeyLimitsChange, CommandFailed> => {
  const members = Object.entries(given).flatMap(([name, value]) =>
    Option.isSome(value) ? [[name, memberOf(name as LimitName, value.value)]] : []
  )
  return Effect.mapError(decode(Object.fromEntries(members)), (error) => {
    const [first] = validationFailed(error).details
    const path = first?.path.split(".")[0]
    return new CommandFailed({
      exit: "usage",
      code: "usage",
      message: `--${path?.replace("spend_", "").replaceAll("_", "-")}: expected ${first?.message}, or ${NONE}`
    })
  })
}

const memberOf = (name: LimitName, text: string): unknown => {
  if (text === NONE) return null
  if (name === "models") return text.split(",").map((model) => model.trim())
  if (name === "expires_at") return text
  return /^\d+$/.test(text) ? Number(text) : text
}

const amount = (micro: UsdMicro | undefined): number | null => (micro === undefined ? null : Number(micro))

/** Returns the limits for `--json`, with the names of the HTTP API; null if the key has no limits. */
export const limitsDocument = (limits: KeyLimits) =>
  isUnlimited(limits)
    ? null
    : {
        spend_usd_micro_per_day: amount(limits.spendPerDay),
        spend_usd_micro_per_month: amount(limits.spendPerMonth),
        spend_usd_micro_total: amount(limits.spendTotal),
        requests_per_minute: limits.requestsPerMinute ?? null,
        tokens_per_minute: limits.tokensPerMinute ?? null,
        concurrent_requests: limits.concurrentRequests ?? null,
        expires_at: limits.expiresAt === undefined ? null : timestamp(limits.expiresAt),
        models: limits.models ?? null
      }

/** Returns the usage of the limits; null if the ledger does not count the requests of the key. */
export const usageDocument = (limits: KeyLimits, counts: KeyCounts | undefined) => {
  if (counts === undefined) return null
  const available = availableBudget(countedLimits(limits), counts)
  return {
    spent_usd_micro_today: toExactUsdMicro(counts.spentInDay),
    spent_usd_micro_this_month: toExactUsdMicro(counts.spentInMonth),
    spent_usd_micro_total: toExactUsdMicro(counts.spentTotal),
    held_usd_micro: toExactUsdMicro(counts.pending),
    available_usd_micro: available === undefined ? null : toExactUsdMicro(available),
    open_requests: counts.openRequests,
    requests_this_minute: counts.window.requests,
    tokens_this_minute: Number(counts.window.tokens)
  }
}

interface Line {
  readonly limit: string
  readonly value: string
  readonly used: string
}

const spendLine = (limit: string, most: UsdMicro | undefined, spent: UsdPico | undefined): Line => ({
  limit,
  value: most === undefined ? "-" : toExactUsdMicro(toUsdPico(most)),
  used: spent === undefined ? "-" : toExactUsdMicro(spent)
})

const countLine = (limit: string, most: number | undefined, used: number | bigint | undefined): Line => ({
  limit,
  value: most === undefined ? "-" : String(most),
  used: used === undefined ? "-" : String(used)
})

/** Formats each limit with its usage. */
export const limitsTable = (limits: KeyLimits, counts: KeyCounts | undefined): string =>
  table<Line>(
    [
      { heading: "limit", cell: ({ limit }) => limit },
      { heading: "value", cell: ({ value }) => value },
      { heading: "used", cell: ({ used }) => used }
    ],
    [
      spendLine("micro-USD per day", limits.spendPerDay, counts?.spentInDay),
      spendLine("micro-USD per month", limits.spendPerMonth, counts?.spentInMonth),
      spendLine("micro-USD in total", limits.spendTotal, counts?.spentTotal),
      countLine("requests per minute", limits.requestsPerMinute, counts?.window.requests),
      countLine("tokens per minute", limits.tokensPerMinute, counts?.window.tokens),
      countLine("concurrent requests", limits.concurrentRequests, counts?.openRequests),
      { limit: "expires at", value: limits.expiresAt === undefined ? "-" : timestamp(limits.expiresAt), used: "-" },
      { limit: "models", value: limits.models?.join(", ") ?? "-", used: "-" }
    ]
  )
