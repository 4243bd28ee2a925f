/**
 * A top-up order as a reseller sees it (spec: Top-up order). Which members there are depends on the method and on how
 * far the order has come; what does not apply, or not yet, is left out (gap D3).
 */
import { PaymentMethod, TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import { TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import * as Schema from "effect/Schema"
import { digits, integer, text, timestamp, uuid } from "../openapi/Fields.ts"

const ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"
const PICTURE = `https://gateway.example/qr/${ID}.svg?t=Zm9y`
const QRIS = "00020101021226610014COM.GO-JEK.WWW..."
const ADDRESS = "0x4f3a120E72C76c22ae802D129F599BFDbc31cb81"
const CONTRACT = "0x55d398326f99059fF775485246999027B3197955"
const AT = "2026-11-20T09:30:00.000Z"

const DepositAddress = Schema.Struct({
  network: text("The network to send on.", "trx"),
  token_kind: TokenKind.annotations({ description: "The token to send." }),
  deposit_address: text("Where to send it.", "TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE"),
  amount: text("How much to send, in whole tokens, exactly.", "25.000000"),
  memo: Schema.optional(text("To be sent with it, where the network asks for one.", "1028734"))
}).annotations({ identifier: "DepositAddress" })

const whatever = {
  id: uuid("The order's id, used in paths.", ID),
  order_number: text("`RTO-` and the id; what payment providers call the order.", `RTO-${ID}`),
  payment_method: PaymentMethod.annotations({ description: "How it is paid." }),
  provider: text("Who takes the payment.", "midtrans"),
  amount_idr: Schema.optional(integer("The principal in rupiah; of the QRIS methods.", 250_000)),
  fee_idr: Schema.optional(integer("The fee in rupiah, never credited; 5 % for `qris`, else 0.", 12_500)),
  total_idr: Schema.optional(integer("What the payer pays: principal and fee.", 262_500)),
  quota_usd_micro: integer("The quota it credits, in micro-USD.", 25_000_000),
  status: TopUpStatus.annotations({ description: "Where the order stands." }),
  payment_status: Schema.Literal("paid", "pending", "expired", "failed").annotations({
    description: "Where its payment stands: `paid` once the order is `crediting`."
  }),
  expires_at: timestamp("Until when it should be paid. A later payment still credits.", AT),
  created_at: timestamp("When it was made.", AT),
  paid_at: Schema.optional(timestamp("When it was paid.", AT)),
  credited_at: Schema.optional(timestamp("When its quota was credited.", AT)),

  qr_content: Schema.optional(text("The QRIS code as text; of `qris` and `hosted_qris`.", QRIS)),
  qr_image_url: Schema.optional(text("A picture of it; of `qris`.", PICTURE)),
  payment_url: Schema.optional(text("The provider's page; of `hosted_qris`.", "https://tripay.co.id/checkout/T1")),
  deposit_addresses: Schema.optional(
    Schema.Array(DepositAddress).annotations({ description: "A payment to one of them pays; of `crypto`." })
  ),

  network: Schema.optional(Schema.Literal("bsc").annotations({ description: "Of `crypto_bep20`, as all below." })),
  chain_id: Schema.optional(integer("The chain's number: 56.", 56)),
  token_kind: Schema.optional(TokenKind.annotations({ description: "The token to send." })),
  contract_address: Schema.optional(text("The token's contract.", CONTRACT)),
  expected_raw: Schema.optional(digits("What to send, exactly, in 10^-18 of a token.", "25000000000000000000")),
  received_raw: Schema.optional(digits("What has arrived, once something has.", "25000000000000000000")),
  received_micro: Schema.optional(digits("The same in micro-USD, rounded down.", "25000000")),
  deposit_address: Schema.optional(text("Where to send it; this order's own.", ADDRESS))
}

const { id, order_number, payment_method, provider, ...rest } = whatever
const provider_payment_id = text("The provider's reference.", "8f9c1c2a-8d0d-4c58-9b3b-6c9f5a3b0a11")

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
  qr_image_url: PICTURE
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

/** In a list. */
export const ListedTopUpOrder = Schema.Struct({ id, order_number, payment_method, provider, ...rest }).annotations({
  identifier: "ListedTopUpOrder",
  examples: [example]
})

/** On its own. */
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
    { ...example, provider_payment_id: "8f9c1c2a-8d0d-4c58-9b3b-6c9f5a3b0a11" },
    { ...bep20, provider_payment_id: ADDRESS }
  ]
})
