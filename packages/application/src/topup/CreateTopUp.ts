/**
 * A reseller orders quota (spec: POST /api/reseller/topup).
 *
 *     terms ─▶ a provider for the method ─▶ draft ─▶ the provider opens the payment ─▶ order
 *
 * The draft is written first, so that whatever a provider opens has an order of ours behind it.
 */
import type { Reseller } from "@tollgate/domain/reseller/Reseller"
import { decideTerms, type TopUpRequest } from "@tollgate/domain/topup/TopUpRequest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { unavailable } from "./OpenPayment.ts"
import { PaymentProviders } from "./PaymentProviders.ts"
import { PaymentRefresher } from "./PaymentRefresher.ts"
import { TopUpOrders } from "./TopUpOrders.ts"
import { TopUpPolicy } from "./TopUpPolicy.ts"

export const createTopUp = ({ id: resellerId, name, email }: Reseller, request: TopUpRequest) =>
  Effect.gen(function* () {
    const { bounds } = yield* TopUpPolicy
    const terms = yield* decideTerms(request, bounds)
    const found = (yield* PaymentProviders).forMethod(terms.method)
    if (Option.isNone(found)) return yield* unavailable()

    const { label, simulated, needsDepositIndex } = found.value
    const orders = yield* TopUpOrders
    const draft = yield* orders.draft({ ...terms, resellerId, provider: label, simulated, needsDepositIndex })
    return yield* (yield* PaymentRefresher).open(found.value, draft, { name, email })
  })
