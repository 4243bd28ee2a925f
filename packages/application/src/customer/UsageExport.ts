/**
 * Writes settled requests as CSV (docs/reference/balances-and-usage.md#k12).
 */
import {
  displayCostUsdMicroOf,
  readUsageFilter,
  type UsageFilterQuery,
  type UsageItem
} from "@tollgate/domain/customer/Usage"
import * as Effect from "effect/Effect"
import { type Column, csvOf, exact, text } from "../operations/CsvExport.ts"
import { SettledUsage, type UsageReader } from "./SettledUsage.ts"

const columns: ReadonlyArray<Column<UsageItem>> = [
  ["timestamp", ({ settledAt }) => exact(settledAt)],
  ["request_id", ({ position }) => exact(position.id)],
  ["user_id", ({ userId }) => exact(userId)],
  ["model", ({ model }) => text(model)],
  ["total_tokens", ({ totalTokens }) => exact(totalTokens)],
  ["display_cost_usd_micro", (item) => exact(displayCostUsdMicroOf(item))]
]

/** Returns, as CSV, the settled requests with charged tokens that a filter selects, newest first. */
export const exportUsage = (reader: UsageReader, query: UsageFilterQuery) =>
  Effect.gen(function* () {
    const filter = yield* readUsageFilter(query)
    const usage = yield* SettledUsage
    return yield* csvOf({
      columns,
      read: (limit, after) => usage.read(reader, { limit, after: after?.position, filter })
    })
  })
