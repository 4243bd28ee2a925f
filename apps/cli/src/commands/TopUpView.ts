/**
 * Formats top-up orders for output, with fields of the reseller API and with fields that only operators see.
 */
import type { StoredTopUp } from "@tollgate/application/topup/TopUpOrders"
import { destinationsOf } from "@tollgate/domain/topup/PaymentMethod"
import {
  anomaliesOf,
  excessUsdMicroOf,
  orderNumberOf,
  paymentStatusOf,
  receivedUsdMicroOf,
  type TopUpOrder,
  tokenKindOf
} from "@tollgate/domain/topup/TopUpOrder"
import { type Json, timestamp } from "../terminal/Output.ts"
import { namedValues, table } from "../terminal/Table.ts"
import { quotaText } from "./Amounts.ts"

type Shown = Pick<StoredTopUp, "order" | "payer">

export const topUpDocument = ({ order, payer }: Shown): Json => ({
  id: order.id,
  order_number: orderNumberOf(order.id),
  reseller_id: order.resellerId,
  reseller_email: payer.email,
  payment_method: order.method,
  provider: order.provider,
  provider_payment_id: order.providerPaymentId,
  simulated: order.simulated,
  ...amountDocument(order),
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
  created_at: timestamp(order.createdAt),
  expires_at: timestamp(order.expiresAt),
  paid_at: timestampOr(order.paidAt),
  credited_at: timestampOr(order.creditedAt),
  checked_at: timestampOr(order.refreshedAt)
})

export const topUpFacts = ({ order, payer }: Shown): string =>
  namedValues([
    ["Order", orderNumberOf(order.id)],
    ["Reseller", payer.email],
    ["Method", `${order.method}, by ${order.provider}${order.simulated ? " (not real money)" : ""}`],
    ["Reference", order.providerPaymentId],
    ["To pay", dueText(order)],
    ["Pay to", destinationsOf(order.instructions).join(", ")],
    ["Quota", quotaText(order.quotaUsdMicro)],
    ["Status", statusText(order)],
    ["Received", receivedText(order)],
    ["Transactions", order.evidence.transactions.join(", ") || "-"],
    ["Remarks", order.evidence.remarks.join("; ") || "-"],
    ["Created", timestamp(order.createdAt)],
    ["Expires", timestamp(order.expiresAt)],
    ["Paid", timestampOr(order.paidAt) ?? "-"],
    ["Credited", timestampOr(order.creditedAt) ?? "-"],
    ["Last refresh", timestampOr(order.refreshedAt) ?? "never"]
  ])

export const topUpsTable = (topUps: ReadonlyArray<Shown>): string =>
  table(
    [
      { heading: "created", cell: ({ order }) => timestamp(order.createdAt) },
      { heading: "reseller", cell: ({ payer }) => payer.email },
      { heading: "provider", cell: ({ order }) => order.provider },
      { heading: "to pay", cell: ({ order }) => dueText(order), align: "right" },
      { heading: "quota usd", cell: ({ order }) => quotaText(order.quotaUsdMicro).replace(" USD", ""), align: "right" },
      { heading: "status", cell: ({ order }) => statusText(order) },
      { heading: "order id", cell: ({ order }) => order.id }
    ],
    topUps
  )

const amountDocument = (order: TopUpOrder) => {
  const { amount } = order
  if (amount._tag === "Rupiah") {
    return {
      amount_idr: amount.amountIdr.toString(),
      fee_idr: amount.feeIdr.toString(),
      total_idr: amount.totalIdr.toString()
    }
  }
  const tokenKind = tokenKindOf(order)
  return tokenKind === undefined ? {} : { token_kind: tokenKind }
}

const dueText = ({ amount, quotaUsdMicro }: TopUpOrder): string =>
  amount._tag === "Rupiah" ? `${amount.totalIdr} IDR` : quotaText(quotaUsdMicro)

const statusText = (order: TopUpOrder): string => [order.status, ...anomaliesOf(order)].join(", ")

const receivedText = (order: TopUpOrder): string => {
  const received = receivedUsdMicroOf(order)
  if (received === undefined) return "-"
  const excess = excessUsdMicroOf(order)
  return `${quotaText(received)}${excess > 0n ? `, ${quotaText(excess)} in excess` : ""}`
}

const timestampOr = (date: Date | undefined): string | null => (date === undefined ? null : timestamp(date))
