/**
 * Builds the responses with settled usage, for resellers, customers and operators.
 */
import type { Listed } from "@tollgate/application/operations/CursorSealer"
import { displayCostUsdMicroOf, type UsageDay, type UsageItem } from "@tollgate/domain/customer/Usage"
import * as Schema from "effect/Schema"
import { instant, integer, text, timestamp, uuid, wholeNumber } from "../openapi/Fields.ts"
import { type DailyUsageBody, nextCursor } from "../openapi/ListDocs.ts"

const example = {
  model: "demo-chat",
  total_tokens: 1_234,
  display_cost_usd_micro: "617.25",
  timestamp: "2026-11-20T09:30:00.000Z"
}
const USER = "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"

const members = {
  model: text("The public name of the model.", example.model),
  total_tokens: integer(
    "The number of charged tokens: all input tokens, cached or not, plus all output tokens.",
    example.total_tokens
  ),
  display_cost_usd_micro: text(
    "The exact list price of the request in micro-USD, as decimal digits with an optional fraction.",
    example.display_cost_usd_micro
  ),
  timestamp: timestamp("The time at which the request was settled.", example.timestamp)
}

const UsageItemBody = Schema.Struct({ user_id: uuid("The customer's id.", USER), ...members }).annotations({
  identifier: "UsageItem",
  examples: [{ user_id: USER, ...example }]
})

export const UsagePageBody = Schema.Struct({
  data: Schema.Array(UsageItemBody).annotations({ description: "The usage items, newest first." }),
  next_cursor: nextCursor
}).annotations({ identifier: "UsagePage", examples: [{ data: [{ user_id: USER, ...example }], next_cursor: null }] })

const OwnUsageItemBody = Schema.Struct(members).annotations({ identifier: "OwnUsageItem", examples: [example] })

export const OwnUsagePageBody = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(OwnUsageItemBody).annotations({ description: "The usage items, newest first." }),
  next_cursor: nextCursor
}).annotations({ identifier: "OwnUsagePage", examples: [{ object: "list", data: [example], next_cursor: null }] })

const toOwnItem = (item: UsageItem): typeof OwnUsageItemBody.Type => ({
  model: item.model,
  total_tokens: wholeNumber(item.totalTokens),
  display_cost_usd_micro: displayCostUsdMicroOf(item),
  timestamp: instant(item.settledAt)
})

export const toPage = ({ items, nextCursor }: Listed<UsageItem>): typeof UsagePageBody.Type => ({
  data: items.map((item) => ({ user_id: item.userId, ...toOwnItem(item) })),
  next_cursor: nextCursor
})

export const toOwnPage = ({ items, nextCursor }: Listed<UsageItem>): typeof OwnUsagePageBody.Type => ({
  object: "list",
  data: items.map(toOwnItem),
  next_cursor: nextCursor
})

export const toDays = (usage: {
  readonly firstDay: string
  readonly lastDay: string
  readonly days: ReadonlyArray<UsageDay>
}): typeof DailyUsageBody.Type => ({
  time_zone: "Asia/Jakarta",
  from: usage.firstDay,
  to: usage.lastDay,
  days: usage.days.map((sums) => ({
    date: sums.day,
    requests: wholeNumber(sums.requests),
    total_tokens: wholeNumber(sums.totalTokens),
    display_cost_usd_micro: displayCostUsdMicroOf(sums)
  }))
})
