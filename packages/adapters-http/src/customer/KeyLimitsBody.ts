/**
 * Declares the JSON schemas of the limits of an API key and of their usage (docs/reference/key-limits.md).
 */
import {
  countedLimits,
  isUnlimited,
  type KeyLimits,
  type KeyLimitsChange,
  MAX_CONCURRENT_REQUESTS,
  MAX_MODELS,
  MAX_REQUESTS_PER_MINUTE,
  MAX_SPEND_USD_MICRO,
  MAX_TOKENS_PER_MINUTE
} from "@tollgate/domain/customer/KeyLimits"
import { availableBudget, type KeyCounts } from "@tollgate/domain/ledger/KeyCounts"
import type { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { toExactUsdMicro } from "@tollgate/domain/money/UsdPico"
import * as Schema from "effect/Schema"
import { instant, integer, type MembersOf, text, wholeNumber } from "../openapi/Fields.ts"

const example = {
  spend_usd_micro_per_day: 5_000_000,
  spend_usd_micro_per_month: null,
  spend_usd_micro_total: null,
  requests_per_minute: 60,
  tokens_per_minute: null,
  concurrent_requests: null,
  expires_at: "2027-01-31T17:00:00.000Z",
  models: ["demo-chat"]
}

const wholeOrNull = (minimum: number, maximum: number, description: string) =>
  Schema.NullOr(Schema.Number).annotations({
    jsonSchema: { type: ["integer", "null"], minimum, maximum, description, examples: [maximum / 1_000] }
  })

const members = {
  spend_usd_micro_per_day: wholeOrNull(
    0,
    MAX_SPEND_USD_MICRO,
    "The maximum spend of a day in micro-USD. Days begin at midnight in Asia/Jakarta."
  ),
  spend_usd_micro_per_month: wholeOrNull(
    0,
    MAX_SPEND_USD_MICRO,
    "The maximum spend of a calendar month in micro-USD. Months begin at midnight in Asia/Jakarta."
  ),
  spend_usd_micro_total: wholeOrNull(0, MAX_SPEND_USD_MICRO, "The maximum spend in total in micro-USD."),
  requests_per_minute: wholeOrNull(1, MAX_REQUESTS_PER_MINUTE, "The maximum number of requests per minute."),
  tokens_per_minute: wholeOrNull(
    1,
    MAX_TOKENS_PER_MINUTE,
    "The maximum number of tokens per minute, prompt and output together."
  ),
  concurrent_requests: wholeOrNull(
    1,
    MAX_CONCURRENT_REQUESTS,
    "The maximum number of requests that run at the same time."
  ),
  expires_at: Schema.NullOr(Schema.String).annotations({
    jsonSchema: {
      type: ["string", "null"],
      format: "date-time",
      description: "The time in UTC from which the key is refused, such as `2027-01-31T17:00:00Z`.",
      examples: [example.expires_at]
    }
  }),
  models: Schema.NullOr(Schema.Array(Schema.String)).annotations({
    jsonSchema: {
      type: ["array", "null"],
      items: { type: "string" },
      minItems: 1,
      maxItems: MAX_MODELS,
      description: "The public names of the models that the key may call.",
      examples: [example.models]
    }
  })
}

export const KeyLimitsBody = Schema.Struct(members).annotations({
  identifier: "KeyLimits",
  description: "The limits of the key. `null` means that there is no such limit.",
  examples: [example]
})

export const KeyLimitsChangeBody = Schema.Struct({
  spend_usd_micro_per_day: Schema.optional(members.spend_usd_micro_per_day),
  spend_usd_micro_per_month: Schema.optional(members.spend_usd_micro_per_month),
  spend_usd_micro_total: Schema.optional(members.spend_usd_micro_total),
  requests_per_minute: Schema.optional(members.requests_per_minute),
  tokens_per_minute: Schema.optional(members.tokens_per_minute),
  concurrent_requests: Schema.optional(members.concurrent_requests),
  expires_at: Schema.optional(members.expires_at),
  models: Schema.optional(members.models)
} satisfies MembersOf<typeof KeyLimitsChange>).annotations({
  identifier: "KeyLimitsChange",
  description: "Limits to set. `null` removes a limit. Other members are refused.",
  examples: [{ spend_usd_micro_per_day: example.spend_usd_micro_per_day, expires_at: null }]
})

const exampleUsage = {
  spent_usd_micro_today: "617.25",
  spent_usd_micro_this_month: "1234.5",
  spent_usd_micro_total: "1234.5",
  held_usd_micro: "100",
  available_usd_micro: "4999282.75",
  open_requests: 1,
  requests_this_minute: 3,
  tokens_this_minute: 4_096
}

export const LimitUsageBody = Schema.Struct({
  spent_usd_micro_today: text(
    "The exact spend of the day in micro-USD, as decimal digits with an optional fraction.",
    exampleUsage.spent_usd_micro_today
  ),
  spent_usd_micro_this_month: text(
    "The exact spend of the month in micro-USD.",
    exampleUsage.spent_usd_micro_this_month
  ),
  spent_usd_micro_total: text("The exact spend in micro-USD since counting began.", exampleUsage.spent_usd_micro_total),
  held_usd_micro: text("The amount in micro-USD that open requests set aside.", exampleUsage.held_usd_micro),
  available_usd_micro: Schema.NullOr(Schema.String).annotations({
    jsonSchema: {
      type: ["string", "null"],
      description: "The amount in micro-USD that new requests can spend; `null` if the key has no budget.",
      examples: [exampleUsage.available_usd_micro]
    }
  }),
  open_requests: integer("The number of open requests.", exampleUsage.open_requests),
  requests_this_minute: integer(
    "The number of requests in the current rate window of 60 seconds.",
    exampleUsage.requests_this_minute
  ),
  tokens_this_minute: integer(
    "The number of tokens in the current rate window of 60 seconds.",
    exampleUsage.tokens_this_minute
  )
}).annotations({
  identifier: "LimitUsage",
  description:
    "The usage of the limits. A key is counted only while it has a budget, a rate limit or a limit of concurrent " +
    "requests. Each time a key that has none of these gets one, its spend and its rate window begin at zero.",
  examples: [exampleUsage]
})

const amountOrNull = (amount: UsdMicro | undefined): number | null =>
  amount === undefined ? null : wholeNumber(amount)

/** Returns the limits of a key; null if it has none. */
export const limitsBody = (limits: KeyLimits): typeof KeyLimitsBody.Type | null =>
  isUnlimited(limits)
    ? null
    : {
        spend_usd_micro_per_day: amountOrNull(limits.spendPerDay),
        spend_usd_micro_per_month: amountOrNull(limits.spendPerMonth),
        spend_usd_micro_total: amountOrNull(limits.spendTotal),
        requests_per_minute: limits.requestsPerMinute ?? null,
        tokens_per_minute: limits.tokensPerMinute ?? null,
        concurrent_requests: limits.concurrentRequests ?? null,
        expires_at: limits.expiresAt === undefined ? null : instant(limits.expiresAt),
        models: limits.models ?? null
      }

/** Returns the usage of the limits; null if the ledger does not count the requests of the key. */
export const limitUsageBody = (limits: KeyLimits, counts: KeyCounts | undefined): typeof LimitUsageBody.Type | null => {
  if (counts === undefined) return null
  return {
    spent_usd_micro_today: toExactUsdMicro(counts.spentInDay),
    spent_usd_micro_this_month: toExactUsdMicro(counts.spentInMonth),
    spent_usd_micro_total: toExactUsdMicro(counts.spentTotal),
    held_usd_micro: toExactUsdMicro(counts.pending),
    available_usd_micro: availableUsdMicro(limits, counts),
    open_requests: counts.openRequests,
    requests_this_minute: counts.window.requests,
    tokens_this_minute: wholeNumber(counts.window.tokens)
  }
}

const availableUsdMicro = (limits: KeyLimits, counts: KeyCounts): string | null => {
  const available = availableBudget(countedLimits(limits), counts)
  return available === undefined ? null : toExactUsdMicro(available)
}
