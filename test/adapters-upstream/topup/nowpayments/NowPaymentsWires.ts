/**
 * Creates NOWPayments responses as in the documentation of NOWPayments, for an order of 25.000123 dollars.
 */
import { ORDER_NUMBER } from "../Payments.ts"

export const AMOUNT = 25.000123

const COINS: { readonly [code: string]: readonly [id: string, network: string, address: string] } = {
  usdttrc20: ["5745459419", "trx", "TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r"],
  usdtbsc: ["5745459420", "bsc", "0x1111111111111111111111111111111111111111"],
  usdcbase: ["5745459421", "base", "0x2222222222222222222222222222222222222222"]
}

export const idOf = (code: string): string => COINS[code]?.[0] ?? "0"

/** Creates a payment as the response to its creation contains it: the id is a string. */
export const aCreated = (code = "usdttrc20", parts: object = {}) => ({
  payment_id: COINS[code]?.[0],
  payment_status: "waiting",
  pay_address: COINS[code]?.[2],
  price_amount: AMOUNT,
  price_currency: "usd",
  pay_amount: AMOUNT,
  pay_currency: code,
  order_id: ORDER_NUMBER,
  order_description: "Quota top-up",
  ipn_callback_url: "https://tollgate.example/webhooks/payments/here",
  created_at: "2026-11-20T04:30:01.000Z",
  updated_at: "2026-11-20T04:30:01.000Z",
  purchase_id: "5837122679",
  amount_received: null,
  payin_extra_id: null,
  smart_contract: "",
  network: COINS[code]?.[1],
  network_precision: 6,
  time_limit: null,
  valid_until: "2026-11-27T04:30:01.000Z",
  type: "crypto2crypto",
  ...parts
})

/** Creates a payment as a status response contains it: the id is a number. */
export const aStatus = (code = "usdttrc20", parts: object = {}) => ({
  payment_id: Number(COINS[code]?.[0]),
  invoice_id: null,
  payment_status: "waiting",
  pay_address: COINS[code]?.[2],
  payin_extra_id: null,
  price_amount: AMOUNT,
  price_currency: "usd",
  pay_amount: AMOUNT,
  actually_paid: 0,
  pay_currency: code,
  order_id: ORDER_NUMBER,
  order_description: "Quota top-up",
  purchase_id: 5_837_122_679,
  outcome_amount: 24.8,
  outcome_currency: "usdttrc20",
  payin_hash: null,
  payout_hash: null,
  created_at: "2026-11-20T04:30:01.000Z",
  updated_at: "2026-11-20T04:41:12.000Z",
  ...parts
})

export const anError = (statusCode: number, code: string, message: string) => ({
  status: false,
  statusCode,
  code,
  message
})
