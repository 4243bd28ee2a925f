/**
 * Lists the settled usage of a reseller's customers (docs/reference/balances-and-usage.md#bal-5).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as useCases from "@tollgate/application/customer/SettledUsage"
import { displayCostUsdMicroOf, type UsageItem } from "@tollgate/domain/customer/Usage"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { forReseller } from "../auth/ResellerCaller.ts"
import {
  instant,
  integer,
  type ParameterValues,
  parameter,
  singleValues,
  text,
  timestamp,
  uuid,
  wholeNumber
} from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"

const USER = "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"
const AT = "2026-11-20T09:30:00.000Z"
const CURSOR = "dTEgMTc2MzYzMTAwMDAwMDAwMCAwMTlhOWYwZQ.Zm9y"

const example = {
  user_id: USER,
  model: "gpt-5-mini",
  total_tokens: 1_234,
  display_cost_usd_micro: "617.25",
  timestamp: AT
}

const UsageItemBody = Schema.Struct({
  user_id: uuid("The customer's id.", USER),
  model: text("The public name of the model.", example.model),
  total_tokens: integer(
    "The number of charged tokens: all input tokens, cached or not, plus all output tokens.",
    example.total_tokens
  ),
  display_cost_usd_micro: text(
    "The exact list price of the request in micro-USD, as decimal digits with an optional fraction.",
    example.display_cost_usd_micro
  ),
  timestamp: timestamp("The time at which the request was settled.", AT)
}).annotations({ identifier: "UsageItem", examples: [example] })

const UsagePageBody = Schema.Struct({
  data: Schema.Array(UsageItemBody).annotations({ description: "The usage items, newest first." }),
  next_cursor: Schema.NullOr(Schema.String).annotations({
    jsonSchema: {
      type: ["string", "null"],
      description: "The `cursor` that returns the next page; `null` on the last page.",
      examples: [CURSOR]
    }
  })
}).annotations({ identifier: "UsagePage", examples: [{ data: [example], next_cursor: null }] })

const readUsage = HttpApiEndpoint.get("readUsage", "/api/reseller/usage")
  .setUrlParams(
    Schema.Struct({
      limit: parameter({
        type: "integer",
        minimum: 1,
        maximum: 100,
        default: 50,
        description: "The maximum number of items per page."
      }),
      cursor: parameter({
        type: "string",
        description: "The `next_cursor` of the previous page.",
        examples: [CURSOR]
      })
    })
  )
  .addSuccess(UsagePageBody)
  .annotateContext(
    documented({
      summary: "List settled usage of the reseller's customers",
      description: "Paging by cursor neither skips nor repeats an item, even if usage is settled between two pages.",
      errors: ["ValidationFailed"]
    })
  )

export class UsageApi extends HttpApiGroup.make("usage")
  .add(readUsage)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Reseller: usage" })) {}

const toItem = (item: UsageItem): typeof UsageItemBody.Type => ({
  user_id: item.userId,
  model: item.model,
  total_tokens: wholeNumber(item.totalTokens),
  display_cost_usd_micro: displayCostUsdMicroOf(item),
  timestamp: instant(item.settledAt)
})

const usagePage = (query: { readonly limit?: ParameterValues; readonly cursor?: ParameterValues }) =>
  forReseller(({ id }) =>
    Effect.gen(function* () {
      const { items, nextCursor } = yield* useCases.readUsage(id, yield* singleValues(query))
      const body: typeof UsagePageBody.Type = { data: items.map(toItem), next_cursor: nextCursor }
      return body
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(UsageApi), "usage", (handlers) =>
  handlers.handleRaw("readUsage", ({ urlParams }) => usagePage(urlParams))
)
