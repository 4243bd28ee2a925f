/**
 * Defines the JSON schema of a top-up order for operators, and converts orders to this JSON. Every member is always
 * present. A member without a value is null or empty.
 */
import type { StoredTopUp } from "@tollgate/application/topup/TopUpOrders"
import { destinationsOf, PaymentMethod, TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import {
  anomaliesOf,
  excessUsdMicroOf,
  orderNumberOf,
  paymentStatusOf,
  receivedUsdMicroOf,
  TopUpStatus,
  tokenKindOf
} from "@tollgate/domain/topup/TopUpOrder"
import * as Schema from "effect/Schema"
import { digits, instant, instantOrNull, orNull, text, timestamp, uuid } from "../openapi/Fields.ts"

const ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
const AT = "2026-11-20T09:30:00.000Z"

export const exampleTopUp = {
  id: ID,
  order_number: `RTO-${ID}`,
  reseller_id: "019a9f0e-1c52-7d1a-9a41-6f1f0d7b2c11",
  reseller_email: "owner@tokotoken.example",
  payment_method: "qris" as const,
  provider: "midtrans",
  provider_payment_id: "8f9c1c2a-8d0d-4c58-9b3b-6c9f5a3b0a11",
  simulated: false,
  amount_idr: "250000",
  fee_idr: "12500",
  total_idr: "262500",
  token_kind: null,
  quota_usd_micro: "25000000",
  status: "credited" as const,
  payment_status: "paid" as const,
  received_raw: null,
  received_usd_micro: null,
  excess_usd_micro: "0",
  anomalies: ["late" as const],
  transactions: ["8f9c1c2a-8d0d-4c58-9b3b-6c9f5a3b0a11"],
  remarks: [],
  pay_to: [],
  created_at: AT,
  expires_at: "2026-11-20T09:45:00.000Z",
  paid_at: "2026-11-20T09:50:00.000Z",
  credited_at: "2026-11-20T09:50:01.000Z",
  checked_at: "2026-11-20T09:50:01.000Z"
}

const texts = (description: string) => Schema.Array(Schema.String).annotations({ description })

export const TopUpBody = Schema.Struct({
  id: uuid("The order's id.", ID),
  order_number: text(
    "`RTO-` followed by the id; this number identifies the order at the payment provider.",
    `RTO-${ID}`
  ),
  reseller_id: uuid("The reseller's id.", exampleTopUp.reseller_id),
  reseller_email: text("The reseller's email.", exampleTopUp.reseller_email),
  payment_method: PaymentMethod.annotations({ description: "The payment method." }),
  provider: text("The payment provider.", exampleTopUp.provider),
  provider_payment_id: text(
    "The id of the payment at the payment provider. For `crypto`: the ids of the payments, separated by commas. For " +
      "`crypto_bep20`: `bsc:` followed by the deposit address.",
    exampleTopUp.provider_payment_id
  ),
  simulated: Schema.Boolean.annotations({ description: "True if no real money is paid." }),
  amount_idr: orNull(digits("The amount in rupiah without the fee; `null` for crypto.", exampleTopUp.amount_idr)),
  fee_idr: orNull(digits("The fee in rupiah; `null` for crypto.", exampleTopUp.fee_idr)),
  total_idr: orNull(digits("The amount to pay in rupiah; `null` for crypto.", exampleTopUp.total_idr)),
  token_kind: orNull(
    TokenKind.annotations({ description: "The token to send with `crypto_bep20`, otherwise `null`." })
  ),
  quota_usd_micro: digits("The quota that the order credits, in micro-USD.", exampleTopUp.quota_usd_micro),
  status: TopUpStatus.annotations({ description: "The status of the order." }),
  payment_status: Schema.Literal("paid", "pending", "expired", "failed").annotations({
    description: "The status of the payment: `paid` as soon as the status of the order is `crediting`."
  }),
  received_raw: orNull(
    digits("The received amount in units of 10^-18 tokens; `null` if it is unknown.", "25000000000000000000")
  ),
  received_usd_micro: orNull(digits("The received amount in micro-USD; `null` if it is unknown.", "25000000")),
  excess_usd_micro: digits("The part of the received amount above the ordered quota. It is not credited.", "0"),
  anomalies: Schema.Array(Schema.Literal("late", "underpaid", "overpaid", "remarked")).annotations({
    description: "The reasons why an operator should inspect the order."
  }),
  transactions: texts("The transactions of the payment, as the payment provider reports them."),
  remarks: texts("Remarks for operators that refreshes of the order recorded."),
  pay_to: texts("The payment destinations: URLs, or a network and a deposit address."),
  created_at: timestamp("The time at which the order was created.", AT),
  expires_at: timestamp("The payment deadline. A later payment is still credited.", exampleTopUp.expires_at),
  paid_at: orNull(timestamp("The time at which the order was paid, or `null`.", exampleTopUp.paid_at)),
  credited_at: orNull(timestamp("The time at which the quota was credited, or `null`.", exampleTopUp.credited_at)),
  checked_at: orNull(timestamp("The time of the last refresh, or `null`.", exampleTopUp.checked_at))
}).annotations({ identifier: "OperatorTopUp", examples: [exampleTopUp] })

export const toTopUpBody = ({ order, payer }: Pick<StoredTopUp, "order" | "payer">): typeof TopUpBody.Type => {
  const rupiah = order.amount._tag === "Rupiah" ? order.amount : undefined
  return {
    id: order.id,
    order_number: orderNumberOf(order.id),
    reseller_id: order.resellerId,
    reseller_email: payer.email,
    payment_method: order.method,
    provider: order.provider,
    provider_payment_id: order.providerPaymentId,
    simulated: order.simulated,
    amount_idr: rupiah?.amountIdr.toString() ?? null,
    fee_idr: rupiah?.feeIdr.toString() ?? null,
    total_idr: rupiah?.totalIdr.toString() ?? null,
    token_kind: tokenKindOf(order) ?? null,
    quota_usd_micro: order.quotaUsdMicro.toString(),
    status: order.status,
    payment_status: paymentStatusOf(order),
    received_raw: order.received.receivedRaw?.toString() ?? null,
    received_usd_micro: receivedUsdMicroOf(order)?.toString() ?? null,
    excess_usd_micro: excessUsdMicroOf(order).toString(),
    anomalies: anomaliesOf(order),
    transactions: order.evidence.transactions,
    remarks: order.evidence.remarks,
    pay_to: destinationsOf(order.instructions),
    created_at: instant(order.createdAt),
    expires_at: instant(order.expiresAt),
    paid_at: instantOrNull(order.paidAt),
    credited_at: instantOrNull(order.creditedAt),
    checked_at: instantOrNull(order.refreshedAt)
  }
}
