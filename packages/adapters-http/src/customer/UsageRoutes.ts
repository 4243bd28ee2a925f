/**
 * What customers used.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as useCases from "@tollgate/application/customer/ReadUsage"
import { displayCostUsdMicroOf, type UsageItem } from "@tollgate/domain/customer/Usage"
import * as Effect from "effect/Effect"
import { forReseller } from "../auth/ResellerCaller.ts"
import { instant, singleValues, wholeNumber } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { UsageApi, type UsageItemBody, type UsagePageBody } from "./UsageApi.ts"

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
      const { items, nextCursor } = yield* useCases.readUsage(id, yield* singleValues(given))
      const body: typeof UsagePageBody.Type = { data: items.map(toItem), next_cursor: nextCursor }
      return body
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(UsageApi), "usage", (handlers) =>
  handlers.handleRaw("readUsage", ({ urlParams }) => pageOfUsage(urlParams))
)
