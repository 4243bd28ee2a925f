/**
 * What customers used.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as useCases from "@tollgate/application/customer/ReadUsage"
import { displayCostUsdMicroOf, type UsageItem } from "@tollgate/domain/customer/UsageItem"
import * as Effect from "effect/Effect"
import { onlyOnce } from "../reseller/Query.ts"
import { forReseller } from "../reseller/ResellerAnswer.ts"
import { instant, wholeNumber } from "../reseller/ResellerFields.ts"
import { GatewayApi } from "../server/GatewayApi.ts"
import type { UsageItemBody, UsagePageBody } from "./UsageApi.ts"

const toItem = (item: UsageItem): typeof UsageItemBody.Type => ({
  user_id: item.userId,
  model: item.model,
  total_tokens: wholeNumber(item.totalTokens),
  display_cost_usd_micro: displayCostUsdMicroOf(item),
  timestamp: instant(item.settledAt)
})

type Given = ReadonlyArray<string> | undefined

const pageOfUsage = (given: { readonly limit?: Given; readonly cursor?: Given }) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      const { items, nextCursor } = yield* useCases.readUsage(id, yield* onlyOnce(given))
      const body: typeof UsagePageBody.Type = { data: items.map(toItem), next_cursor: nextCursor }
      return body
    })
  )

export const layer = HttpApiBuilder.group(GatewayApi, "usage", (handlers) =>
  handlers.handleRaw("readUsage", ({ urlParams }) => pageOfUsage(urlParams))
)
