/**
 * Creates Tripay responses as in the documentation of Tripay, for the order of the tests.
 */
import { ORDER_NUMBER } from "../Payments.ts"
import { aQrisCode } from "../QrisCode.ts"

export const REFERENCE = "T0001000023000XXXXX"
export const PAGE = `https://tripay.co.id/checkout/${REFERENCE}`

export const aTransaction = (parts: object = {}) => ({
  reference: REFERENCE,
  merchant_ref: ORDER_NUMBER,
  payment_selection_type: "static",
  payment_method: "QRIS2",
  payment_name: "QRIS",
  customer_name: "Toko Sumber Jaya",
  customer_email: "owner@toko.example",
  customer_phone: null,
  callback_url: "https://tollgate.example/webhooks/payments/here",
  return_url: null,
  amount: 50_000,
  fee_merchant: 1_100,
  fee_customer: 0,
  total_fee: 1_100,
  amount_received: 48_900,
  pay_code: null,
  pay_url: null,
  checkout_url: PAGE,
  status: "UNPAID",
  expired_time: 1_795_150_000,
  order_items: [{ sku: "TOPUP", name: "Quota top-up", price: 50_000, quantity: 1, subtotal: 50_000 }],
  instructions: [],
  qr_string: aQrisCode(50_000n),
  qr_url: `https://tripay.co.id/qr/${REFERENCE}`,
  ...parts
})

export const success = (data: unknown) => ({ success: true, message: "", data })
export const refusal = (message: string) => ({ success: false, message })

export const aChannel = (parts: object = {}) => ({
  group: "E-Wallet",
  code: "QRIS2",
  name: "QRIS",
  type: "direct",
  fee_merchant: { flat: 750, percent: 0.7 },
  fee_customer: { flat: 0, percent: 0 },
  total_fee: { flat: 750, percent: "0.70" },
  minimum_amount: 1_000,
  maximum_amount: 5_000_000,
  active: true,
  ...parts
})
