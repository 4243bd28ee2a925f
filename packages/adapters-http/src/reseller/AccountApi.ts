/**
 * What a reseller knows of itself (spec: Reseller: account).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { digits } from "../openapi/Fields.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"
import { ResellerAccount } from "./ResellerAccount.ts"

export const QuotaBalance = Schema.Struct({
  balance_usd_micro: digits("The prepaid quota, in micro-USD: 1 USD is 1000000.", "25000000")
}).annotations({ identifier: "QuotaBalance", examples: [{ balance_usd_micro: "25000000" }] })

const me = HttpApiEndpoint.get("me", "/api/reseller/me")
  .addSuccess(ResellerAccount)
  .annotateContext(documented({ summary: "Who the token belongs to", errors: [] }))

const balance = HttpApiEndpoint.get("balance", "/api/reseller/balance")
  .addSuccess(QuotaBalance)
  .annotateContext(documented({ summary: "The quota that is left", errors: [] }))

export class AccountApi extends HttpApiGroup.make("resellerAccount")
  .add(me)
  .add(balance)
  .addError(ResellerError)
  .annotateContext(OpenApi.annotations({ title: "Reseller: account" })) {}
