/**
 * What customers used (spec: Reseller: usage).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { integer, parameter, text, timestamp, uuid } from "../openapi/Fields.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"

const USER = "019a9f0e-4444-7d1a-9a41-6f1f0d7b2c11"
const AT = "2026-11-20T09:30:00.000Z"
const CURSOR = "dTEgMTc2MzYzMTAwMDAwMDAwMCAwMTlhOWYwZQ.Zm9y"

const item = {
  user_id: USER,
  model: "gpt-5-mini",
  total_tokens: 1_234,
  display_cost_usd_micro: "617.25",
  timestamp: AT
}

export const UsageItemBody = Schema.Struct({
  user_id: uuid("The customer's id.", USER),
  model: text("The public name of the model.", item.model),
  total_tokens: integer("All tokens that were charged: input, cached or not, and output.", item.total_tokens),
  display_cost_usd_micro: text(
    "The list price of the whole request in micro-USD, exact: decimal digits, with a fraction where there is one.",
    item.display_cost_usd_micro
  ),
  timestamp: timestamp("When it was settled.", AT)
}).annotations({ identifier: "UsageItem", examples: [item] })

export const UsagePageBody = Schema.Struct({
  data: Schema.Array(UsageItemBody).annotations({ description: "Newest first." }),
  next_cursor: Schema.NullOr(Schema.String).annotations({
    jsonSchema: {
      type: ["string", "null"],
      description: "Sent as `cursor` it gives the next page; `null` on the last one.",
      examples: [CURSOR]
    }
  })
}).annotations({ identifier: "UsagePage", examples: [{ data: [item], next_cursor: null }] })

const readUsage = HttpApiEndpoint.get("readUsage", "/api/reseller/usage")
  .setUrlParams(
    Schema.Struct({
      limit: parameter({ type: "integer", minimum: 1, maximum: 100, default: 50, description: "How many." }),
      cursor: parameter({ type: "string", description: "The `next_cursor` of the page before.", examples: [CURSOR] })
    })
  )
  .addSuccess(UsagePageBody)
  .annotateContext(
    documented({
      summary: "Settled usage of the reseller's customers, page by page",
      description: "Reading on from a cursor neither leaves out nor repeats anything, whatever is settled meanwhile.",
      errors: ["ValidationFailed"]
    })
  )

export class UsageApi extends HttpApiGroup.make("usage")
  .add(readUsage)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Reseller: usage" })) {}
