/**
 * What customers have left.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type { BalancesStatement } from "@tollgate/application/customer/Balances"
import * as useCases from "@tollgate/application/customer/CustomerBalances"
import { keyBalances } from "@tollgate/application/customer/KeyBalances"
import { floorToUsd } from "@tollgate/domain/money/UsdPico"
import * as Effect from "effect/Effect"
import { forReseller } from "../auth/ResellerCaller.ts"
import { instant, wholeNumber } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { BalancesApi, type CustomerBalancesBody, type KeyBalancesBody } from "./BalancesApi.ts"

const toBalances = ({ userId, balances, asOf }: BalancesStatement): typeof CustomerBalancesBody.Type => ({
  customer_user_id: userId,
  payg: { currency: "USD", balance: floorToUsd(balances.paygPico) },
  token_plans: balances.plans.map(({ model, purchased, used, remaining, status }) => ({
    model,
    purchased_tokens: wholeNumber(purchased),
    used_tokens: wholeNumber(used),
    remaining_tokens: wholeNumber(remaining),
    status
  })),
  as_of: instant(asOf)
})

const ofCustomer = (userId: string) =>
  forReseller(({ id }) => Effect.map(useCases.customerBalances(id, userId), toBalances))

const ofKeyOwner = (keyId: string) =>
  forReseller(({ id }) =>
    Effect.map(keyBalances(id, keyId), (statement): typeof KeyBalancesBody.Type => ({
      key_id: statement.keyId,
      ...toBalances(statement)
    }))
  )

export const layer = HttpApiBuilder.group(gateway.add(BalancesApi), "balances", (handlers) =>
  handlers
    .handleRaw("keyBalances", ({ path: { keyID } }) => ofKeyOwner(keyID))
    .handleRaw("customerBalances", ({ path: { userID } }) => ofCustomer(userID))
)
