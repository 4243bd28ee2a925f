import { KeyLimitStore } from "@tollgate/application/customer/KeyLimits"
import type { KeyLimitsChange } from "@tollgate/domain/customer/KeyLimits"
import { Effect } from "effect"
import * as Stores from "../../support/Stores.ts"
import { aCustomer, type Customer } from "./Customers.ts"

export const change = ({ principal }: Customer, limits: KeyLimitsChange) =>
  Effect.flatMap(KeyLimitStore, (store) => store.change(principal.keyId, limits, Stores.operator))

/** The principal of the customer is as after an authentication with the limits. */
export const aLimited = (limits: KeyLimitsChange, usdMicro = 1_000_000n) =>
  Effect.gen(function* () {
    const customer = yield* aCustomer({ usdMicro })
    yield* change(customer, limits)
    return asLimited(customer)
  })

export const asLimited = (customer: Customer): Customer => ({
  ...customer,
  principal: {
    ...customer.principal,
    limits: { counted: true, expiresAtMillis: Number.POSITIVE_INFINITY, models: undefined }
  }
})

export const countsOf = ({ principal }: Customer) =>
  Effect.gen(function* () {
    const { counts } = yield* (yield* KeyLimitStore).read(principal.keyId)
    if (counts === undefined) return yield* Effect.dieMessage("the key is not limited")
    const { openRequests, pending, spentInDay, spentInMonth, spentTotal, window } = counts
    return {
      openRequests,
      pending,
      spentInDay,
      spentInMonth,
      spentTotal,
      tokens: window.tokens,
      requests: window.requests
    }
  }).pipe(Effect.orDie)
