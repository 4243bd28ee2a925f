/**
 * Reads the account and the quota of the calling reseller (docs/reference/reseller.md#res-5).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Quota } from "@tollgate/application/reseller/Quota"
import { type Reseller, ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { forReseller, resellerServices } from "../auth/ResellerCaller.ts"
import { withOnly } from "../http/RouteServices.ts"
import { digits, text, uuid } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { documented, ResellerError } from "../openapi/ResellerDocs.ts"

export const exampleAccount = {
  id: "019a9f0e-1c52-7d1a-9a41-6f1f0d7b2c11",
  email: "owner@tokotoken.example",
  name: "Toko Token",
  status: "active" as const
}

export const AccountBody = Schema.Struct({
  id: uuid("The reseller's id.", exampleAccount.id),
  email: text("The login email.", exampleAccount.email),
  name: text("The display name.", exampleAccount.name),
  status: ResellerStatus.annotations({
    description: "`pending` until an operator has reviewed the account; only an `active` reseller can log in."
  })
}).annotations({ identifier: "Reseller", examples: [exampleAccount] })

export const toAccount = ({ id, email, name, status }: Reseller): typeof AccountBody.Type => ({
  id,
  email,
  name,
  status
})

const QuotaBalance = Schema.Struct({
  balance_usd_micro: digits("The remaining prepaid quota in micro-USD; 1 USD is 1000000 micro-USD.", "25000000")
}).annotations({ identifier: "QuotaBalance", examples: [{ balance_usd_micro: "25000000" }] })

const readAccount = HttpApiEndpoint.get("getAccount", "/api/reseller/me")
  .addSuccess(AccountBody)
  .annotateContext(documented({ summary: "Read the account that the token belongs to", errors: [] }))

const readBalance = HttpApiEndpoint.get("getQuota", "/api/reseller/balance")
  .addSuccess(QuotaBalance)
  .annotateContext(documented({ summary: "Read the remaining quota", errors: [] }))

export class AccountApi extends HttpApiGroup.make("resellerAccount")
  .add(readAccount)
  .add(readBalance)
  .addError(ResellerError)
  .annotateContext(
    OpenApi.annotations({
      title: "Reseller: account",
      description: "The reseller's own account and quota."
    })
  ) {}

const account = forReseller((reseller) => Effect.succeed(toAccount(reseller)))

const balance = forReseller(({ id }) =>
  Effect.map(
    Effect.flatMap(Quota, (quota) => quota.balance(id)),
    (usdMicro): typeof QuotaBalance.Type => ({ balance_usd_micro: usdMicro.toString() })
  )
)

export const layer = HttpApiBuilder.group(gateway.add(AccountApi), "resellerAccount", (handlers) =>
  handlers.handleRaw("getAccount", () => account).handleRaw("getQuota", () => balance)
).pipe(withOnly(...resellerServices, Quota))
