/**
 * Defines the JSON schema of a top-up order (docs/reference/reseller.md#top-ups), and converts orders to this JSON.
 * Members that do not apply to the payment method, or that have no value yet, are left out
 * (docs/reference/reseller.md#d3).
 */
import { type DepositAddress, PaymentMethod, TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import {
  type OrderId,
  orderNumberOf,
  paymentStatusOf,
  receivedUsdMicroOf,
  type TopUpOrder,
  TopUpStatus
} from "@tollgate/domain/topup/TopUpOrder"
import * as Schema from "effect/Schema"
import { digits, instant, integer, text, timestamp, uuid, wholeNumber } from "../openapi/Fields.ts"

const ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
const QR_IMAGE_URL = `https://gateway.example/qr/${ID}.svg?t=Zm9y`
const QRIS = "00020101021226610014COM.GO-JEK.WWW..."
const ADDRESS = "0x4f3a120E72C76c22ae802D129F599BFDbc31cb81"
const TRON_ADDRESS = "TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE"
const CONTRACT = "0x55d398326f99059fF775485246999027B3197955"
const AT = "2026-11-20T09:30:00.000Z"

const DepositAddressBody = Schema.Struct({
  network: text("The network for the payment.", "trx"),
  token_kind: TokenKind.annotations({ description: "The token to send." }),
  deposit_address: text("The address that receives the payment.", TRON_ADDRESS),
  amount: text("The exact number of tokens to send, as a decimal number.", "25"),
  memo: Schema.optional(text("The memo to send with the payment, on networks that need one.", "1028734"))
}).annotations({ identifier: "DepositAddress" })

const members = {
  id: uuid("The order's id, used in paths.", ID),
  order_number: text(
    "`RTO-` followed by the id; this number identifies the order at the payment provider.",
    `RTO-${ID}`
  ),
  payment_method: PaymentMethod.annotations({ description: "The payment method." }),
  provider: text("The payment provider.", "midtrans"),
  amount_idr: Schema.optional(
    integer("The amount in rupiah without the fee; only for `qris` and `hosted_qris`.", 250_000)
  ),
  fee_idr: Schema.optional(
    integer("The fee in rupiah, which is not credited: 5 % for `qris`, 0 for `hosted_qris`.", 12_500)
  ),
  total_idr: Schema.optional(integer("The amount to pay in rupiah: `amount_idr` plus `fee_idr`.", 262_500)),
  quota_usd_micro: integer("The quota that the order credits, in micro-USD.", 25_000_000),
  status: TopUpStatus.annotations({ description: "The status of the order." }),
  payment_status: Schema.Literal("paid", "pending", "expired", "failed").annotations({
    description: "The status of the payment: `paid` as soon as the status of the order is `crediting`."
  }),
  expires_at: timestamp("The payment deadline. A later payment is still credited.", AT),
  created_at: timestamp("The time at which the order was created.", AT),
  paid_at: Schema.optional(timestamp("The time at which the order was paid.", AT)),
  credited_at: Schema.optional(timestamp("The time at which the quota was credited.", AT)),

  qr_content: Schema.optional(text("The QRIS code as text; for `qris` and `hosted_qris`.", QRIS)),
  qr_image_url: Schema.optional(text("The URL of the QRIS code as an image; for `qris`.", QR_IMAGE_URL)),
  payment_url: Schema.optional(
    text(
      "The URL of the payment provider's page for this payment; for `hosted_qris`.",
      "https://tripay.co.id/checkout/T1"
    )
  ),
  deposit_addresses: Schema.optional(
    Schema.Array(DepositAddressBody).annotations({
      description: "The addresses for `crypto`; pay to any one of these addresses."
    })
  ),

  network: Schema.optional(
    Schema.Literal("bsc").annotations({
      description:
        "The network. This member, `chain_id`, `token_kind`, `contract_address`, `expected_raw`, `received_raw`, " +
        "`received_micro` and `deposit_address` are present only for `crypto_bep20`."
    })
  ),
  chain_id: Schema.optional(integer("The chain id: 56.", 56)),
  token_kind: Schema.optional(TokenKind.annotations({ description: "The token to send." })),
  contract_address: Schema.optional(text("The address of the token's contract.", CONTRACT)),
  expected_raw: Schema.optional(digits("The exact amount to send, in units of 10^-18 tokens.", "25000000000000000000")),
  received_raw: Schema.optional(
    digits(
      "The amount received so far, in units of 10^-18 tokens; absent while the amount is zero.",
      "25000000000000000000"
    )
  ),
  received_micro: Schema.optional(digits("The value of `received_raw` in micro-USD, rounded down.", "25000000")),
  deposit_address: Schema.optional(
    text("The address that receives the payment; no other order uses this address.", ADDRESS)
  )
}

const { id, order_number, payment_method, provider, ...rest } = members
const PAYMENT_ID = "8f9c1c2a-8d0d-4c58-9b3b-6c9f5a3b0a11"
const provider_payment_id = text(
  "The id of the payment at the payment provider. For `crypto`: the ids of the payments, one for each deposit address, " +
    "separated by commas. For `crypto_bep20`: `bsc:` followed by the deposit address.",
  PAYMENT_ID
)

const example = {
  id: ID,
  order_number: `RTO-${ID}`,
  payment_method: "qris" as const,
  provider: "midtrans",
  amount_idr: 250_000,
  fee_idr: 12_500,
  total_idr: 262_500,
  quota_usd_micro: 25_000_000,
  status: "pending" as const,
  payment_status: "pending" as const,
  expires_at: "2026-11-20T09:45:00.000Z",
  created_at: AT,
  qr_content: QRIS,
  qr_image_url: QR_IMAGE_URL
}

const crypto = {
  id: ID,
  order_number: `RTO-${ID}`,
  payment_method: "crypto" as const,
  provider: "nowpayments",
  quota_usd_micro: 25_000_000,
  status: "pending" as const,
  payment_status: "pending" as const,
  expires_at: "2026-11-20T10:30:00.000Z",
  created_at: AT,
  deposit_addresses: [
    { network: "trx", token_kind: "usdt" as const, deposit_address: TRON_ADDRESS, amount: "25" },
    { network: "matic", token_kind: "usdc" as const, deposit_address: ADDRESS, amount: "25" }
  ]
}

const bep20 = {
  id: ID,
  order_number: `RTO-${ID}`,
  payment_method: "crypto_bep20" as const,
  provider: "bsc",
  quota_usd_micro: 25_000_000,
  status: "credited" as const,
  payment_status: "paid" as const,
  expires_at: "2026-11-20T10:30:00.000Z",
  created_at: AT,
  paid_at: "2026-11-20T09:33:11.000Z",
  credited_at: "2026-11-20T09:33:40.512Z",
  network: "bsc" as const,
  chain_id: 56,
  token_kind: "usdt" as const,
  contract_address: CONTRACT,
  expected_raw: "25000000000000000000",
  received_raw: "25000000000000000000",
  received_micro: "25000000",
  deposit_address: ADDRESS
}

/** The body of an order in a list. */
export const ListedTopUpOrder = Schema.Struct({ id, order_number, payment_method, provider, ...rest }).annotations({
  identifier: "ListedTopUpOrder",
  examples: [example]
})

/** The body of an order that is returned alone. */
export const TopUpOrderBody = Schema.Struct({
  id,
  order_number,
  payment_method,
  provider,
  provider_payment_id,
  ...rest
}).annotations({
  identifier: "TopUpOrder",
  examples: [
    { ...example, provider_payment_id: PAYMENT_ID },
    { ...crypto, provider_payment_id: "5745459419,5745459420" },
    { ...bep20, provider_payment_id: `bsc:${ADDRESS}` }
  ]
})

/** The body of the response to a request that creates an order. */
export const CreatedTopUpOrder = Schema.Struct({
  ...TopUpOrderBody.fields,
  already_applied: Schema.optional(
    Schema.Boolean.annotations({
      description:
        "True if an earlier request with this `operation_id` created the order. Absent if the request has no `operation_id`."
    })
  )
}).annotations({
  identifier: "CreatedTopUpOrder",
  examples: [{ ...example, provider_payment_id: PAYMENT_ID, already_applied: false }]
})

type Listed = typeof ListedTopUpOrder.Type
type QrUrlOf = (id: OrderId) => string

/**
 * Converts an order to its body in a list. `qrUrlOf` returns the URL of the image that this service draws. This URL is
 * used if the payment provider supplies no image.
 */
export const toListed = (order: TopUpOrder, qrUrlOf: QrUrlOf): Listed => ({
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
  ...instructionsOf(order, qrUrlOf)
})

export const toBody = (order: TopUpOrder, qrUrlOf: QrUrlOf): typeof TopUpOrderBody.Type => ({
  ...toListed(order, qrUrlOf),
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

const instructionsOf = (order: TopUpOrder, qrUrlOf: QrUrlOf): Partial<Listed> => {
  const { instructions } = order
  switch (instructions._tag) {
    case "Qris":
      return { qr_content: instructions.qrContent, qr_image_url: instructions.qrImageUrl ?? qrUrlOf(order.id) }
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
