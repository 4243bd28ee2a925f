/**
 * Tells an order of the domain in the members of the wire.
 */
import type { DepositAddress } from "@tollgate/domain/topup/PaymentMethod"
import {
  type OrderId,
  orderNumberOf,
  paymentStatusOf,
  receivedUsdMicroOf,
  type TopUpOrder
} from "@tollgate/domain/topup/TopUpOrder"
import { instant, wholeNumber } from "../openapi/Fields.ts"
import type { ListedTopUpOrder, TopUpOrderBody } from "./TopUpOrderBody.ts"

type Listed = typeof ListedTopUpOrder.Type
type QrAddress = (id: OrderId) => string

/** `qrAddress` is where our own picture of an order is, for providers that have none. */
export const toListed = (order: TopUpOrder, qrAddress: QrAddress): Listed => ({
  id: order.id,
  order_number: orderNumberOf(order.id),
  payment_method: order.method,
  provider: order.provider,
  ...rupiahOf(order),
  quota_usd_micro: wholeNumber(order.quotaUsdMicro),
  status: order.status,
  payment_status: paymentStatusOf(order),
  expires_at: instant(order.expiresAt),
  created_at: instant(order.createdAt),
  ...(order.paidAt === undefined ? {} : { paid_at: instant(order.paidAt) }),
  ...(order.creditedAt === undefined ? {} : { credited_at: instant(order.creditedAt) }),
  ...instructionsOf(order, qrAddress)
})

export const toBody = (order: TopUpOrder, qrAddress: QrAddress): typeof TopUpOrderBody.Type => ({
  ...toListed(order, qrAddress),
  provider_payment_id: order.providerPaymentId
})

const rupiahOf = ({ amount }: TopUpOrder): Pick<Listed, "amount_idr" | "fee_idr" | "total_idr"> =>
  amount._tag === "Dollars"
    ? {}
    : {
        amount_idr: wholeNumber(amount.amountIdr),
        fee_idr: wholeNumber(amount.feeIdr),
        total_idr: wholeNumber(amount.totalIdr)
      }

const instructionsOf = (order: TopUpOrder, qrAddress: QrAddress): Partial<Listed> => {
  const { instructions } = order
  switch (instructions._tag) {
    case "Qris":
      return { qr_content: instructions.qrContent, qr_image_url: instructions.qrImageUrl ?? qrAddress(order.id) }
    case "HostedQris":
      return { qr_content: instructions.qrContent, payment_url: instructions.paymentUrl }
    case "Crypto":
      return { deposit_addresses: instructions.depositAddresses.map(depositAddressOf) }
    case "Bep20":
      return {
        network: instructions.network,
        chain_id: instructions.chainId,
        token_kind: instructions.tokenKind,
        contract_address: instructions.contractAddress,
        expected_raw: instructions.expectedRaw.toString(),
        ...receivedOf(order),
        deposit_address: instructions.depositAddress
      }
  }
}

const depositAddressOf = ({ network, tokenKind, depositAddress, amount, memo }: DepositAddress) => ({
  network,
  token_kind: tokenKind,
  deposit_address: depositAddress,
  amount,
  ...(memo === undefined ? {} : { memo })
})

const receivedOf = (order: TopUpOrder): Pick<Listed, "received_raw" | "received_micro"> => {
  const raw = order.received.receivedRaw ?? 0n
  return raw === 0n
    ? {}
    : { received_raw: raw.toString(), received_micro: (receivedUsdMicroOf(order) ?? 0n).toString() }
}
