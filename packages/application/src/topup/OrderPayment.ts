/**
 * Derives from an order the data for requests to its payment provider.
 */
import { orderNumberOf, type TopUpDraft } from "@tollgate/domain/topup/TopUpOrder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  type AmountDue,
  type OpenedPayment,
  type PaymentIntent,
  type PaymentProvider,
  PaymentProviders
} from "./PaymentProviders.ts"
import type { Payer, StoredTopUp } from "./TopUpOrders.ts"

/**
 * Returns the provider of an order or a draft; none if this provider is not configured. Also returns none if the
 * payment is simulated and the provider is not, or the reverse. A simulator must never confirm a payment of real money.
 */
export const providerOf = ({
  provider,
  simulated
}: Pick<TopUpDraft, "provider" | "simulated">): Effect.Effect<
  Option.Option<PaymentProvider>,
  never,
  PaymentProviders
> =>
  Effect.map(PaymentProviders, ({ byLabel }) =>
    Option.filter(byLabel(provider), (found) => found.simulated === simulated)
  )

export const intentOf = (draft: TopUpDraft, payer: Payer): PaymentIntent => ({
  orderId: draft.id,
  orderNumber: orderNumberOf(draft.id),
  method: draft.method,
  due: dueOf(draft),
  payer,
  depositIndex: draft.depositIndex,
  createdAt: draft.createdAt
})

const dueOf = ({ amount, quotaUsdMicro }: TopUpDraft): AmountDue =>
  amount._tag === "Rupiah"
    ? { _tag: "Rupiah", totalIdr: amount.totalIdr }
    : { _tag: "Dollars", amountUsdMicro: quotaUsdMicro, tokenKind: amount.tokenKind }

export const openedOf = ({ order, providerState, repeatedPayments }: StoredTopUp): OpenedPayment => ({
  providerPaymentId: order.providerPaymentId,
  instructions: order.instructions,
  expiresAt: order.expiresAt,
  state: providerState,
  repeatedPayments
})
