/**
 * The reseller itself, and its quota.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Quota } from "@tollgate/application/reseller/Quota"
import * as Effect from "effect/Effect"
import { forReseller } from "../auth/ResellerCaller.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { AccountApi, type QuotaBalance } from "./AccountApi.ts"
import { toAccount } from "./ResellerAccount.ts"

const me = forReseller((reseller) => Effect.succeed(toAccount(reseller)))

const balance = forReseller(({ id }) =>
  Effect.map(
    Effect.flatMap(Quota, (quota) => quota.balance(id)),
    (usdMicro): typeof QuotaBalance.Type => ({ balance_usd_micro: usdMicro.toString() })
  )
)

export const layer = HttpApiBuilder.group(gateway.add(AccountApi), "resellerAccount", (handlers) =>
  handlers.handleRaw("me", () => me).handleRaw("balance", () => balance)
)
