/**
 * An order in the words a payment provider is spoken to: the same whenever it is asked.
 */
import { orderNumberOf } from "@tollgate/domain/topup/OrderId"
import type { TopUpDraft } from "@tollgate/domain/topup/TopUpOrder"
import type { AmountDue, OpenedPayment, PaymentIntent } from "./PaymentProviders.ts"
import type { Payer, StoredTopUp } from "./TopUpOrders.ts"

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
