/**
 * Simulates the NOWPayments API for payments in dollar tokens. Amounts are JSON numbers. The id of a payment is a
 * string in the response to the payment's creation and a number in later responses. Every simulated token is worth
 * exactly one dollar.
 */
import { createHmac, randomBytes, randomInt } from "node:crypto"
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import * as Either from "effect/Either"
import { decimalText, readDecimal, type SimulatedPayment } from "../payment/SimulatedPayment.ts"
import type { SimulatedPayments } from "../payment/SimulatedPayments.ts"
import {
  json,
  readObject,
  type SimulatedProvider,
  type SimulatedProviderDescriptor,
  type WireRequest,
  type WireResponse
} from "../payment/SimulatedProvider.ts"

const NAME = "nowpayments"
export const SIMULATED_NOWPAYMENTS = {
  apiKey: "SIMULATOR-NOT-A-KEY-nowpayments-api",
  ipnSecret: "SIMULATOR-NOT-A-KEY-nowpayments-ipn",
  currencies: ["usdttrc20", "usdtbsc", "usdcmatic", "usdcbase"]
} as const
const DECIMALS = 6
const MIN_AMOUNT = 1_000_000n
/** The time in milliseconds for which a deposit address is valid: a week. */
const VALID_MILLIS = 7 * 86_400_000

/** The coins that the simulated account accepts, and their networks. */
const NETWORKS: { readonly [coin: string]: string } = {
  usdttrc20: "trx",
  usdterc20: "eth",
  usdtbsc: "bsc",
  usdtmatic: "matic",
  usdc: "eth",
  usdcbsc: "bsc",
  usdcmatic: "matic",
  usdcbase: "base"
}

export const nowPaymentsSimulator: SimulatedProviderDescriptor = {
  name: NAME,
  simulate: (payments) => simulate(payments),
  environment: ({ simulatorUrl }) => ({
    NOWPAYMENTS_BASE_URL: `${simulatorUrl}/${NAME}`,
    NOWPAYMENTS_API_KEY: SIMULATED_NOWPAYMENTS.apiKey,
    NOWPAYMENTS_IPN_SECRET: SIMULATED_NOWPAYMENTS.ipnSecret,
    NOWPAYMENTS_CURRENCIES: SIMULATED_NOWPAYMENTS.currencies.join(",")
  })
}

const simulate = (payments: SimulatedPayments): SimulatedProvider => ({
  name: NAME,
  respond: (request) => {
    const { headers, method, now, path, query } = request
    if (method === "GET" && path === "/v1/status") return json(200, { message: "OK" })
    if (headers["x-api-key"] !== SIMULATED_NOWPAYMENTS.apiKey) return refusal(403, "INVALID_API_KEY", "Invalid api key")
    if (method === "POST" && path === "/v1/payment") return create(payments, request)
    if (method !== "GET") return refusal(404, "NOT_FOUND", `Cannot ${method} ${path}`)
    if (path === "/v1/merchant/coins") return json(200, { selectedCurrencies: merchantCoins })
    if (path === "/v1/min-amount") return minAmount(query)
    const id = /^\/v1\/payment\/(\d+)$/.exec(path)?.[1]
    const payment = payments.named(id ?? "", now, NAME)[0]
    return payment === undefined
      ? refusal(404, "NOT_FOUND", id === undefined ? `Cannot GET ${path}` : "Payment not found")
      : json(200, { ...paymentStatus(payment), payment_extra_ids: repeatsOf(payments, payment, now) })
  },
  carryOut: (_before, _after, now) => now,
  again: (payment, { amount, finished }, now) => {
    const received = amount === undefined ? payment.due : readDecimal(amount, DECIMALS)
    if (!received)
      return Either.left("amount must be a positive decimal with at most six digits after the decimal point")
    if (payment.received === 0n) return Either.left("it has no payment yet: pay or underpay it first")
    return Either.right({
      ...payment,
      reference: aReference(),
      orderNumber: undefined,
      due: finished ? received : (payment.due ?? received),
      received,
      state: finished ? "paid" : "open",
      openedAt: now,
      changedAt: now,
      expiresAt: now + VALID_MILLIS,
      requestBody: {
        ...payment.requestBody,
        order_description: null,
        [PARENT]: originalOf(payment) ?? payment.reference
      }
    })
  },
  webhook: (payment) => {
    const original = originalOf(payment)
    const notification = {
      ...paymentStatus(payment),
      parent_payment_id: original === undefined ? null : Number(original),
      payment_extra_ids: null,
      fee: feeOf(payment)
    }
    return {
      headers: {
        "content-type": "application/json",
        "x-nowpayments-sig": createHmac("sha512", SIMULATED_NOWPAYMENTS.ipnSecret)
          .update(JSON.stringify(sorted(notification)))
          .digest("hex")
      },
      body: JSON.stringify(notification)
    }
  }
})

const PARENT = "parent_payment_id"

const originalOf = ({ requestBody }: SimulatedPayment): string | undefined => asText(requestBody[PARENT]) || undefined

/** Returns the ids of the repeated payments of a payment; null if there are none. */
const repeatsOf = (payments: SimulatedPayments, { reference }: SimulatedPayment, now: number) => {
  const repeats = payments.newestFirst(now).filter((payment) => originalOf(payment) === reference)
  return repeats.length === 0 ? null : repeats.map((payment) => Number(payment.reference)).reverse()
}

const aReference = (): string => `${randomInt(5_000_000_000, 9_999_999_999)}`

/**
 * The accepted coins in upper case. The real API also writes this list in upper case, and coins elsewhere in lower
 * case.
 */
const merchantCoins = Object.keys(NETWORKS).map((coin) => coin.toUpperCase())

const refusal = (status: number, code: string, message: string): WireResponse =>
  json(status, { status: false, statusCode: status, code, message })

const create = (payments: SimulatedPayments, request: WireRequest): WireResponse => {
  const { now } = request
  const requestBody = readObject(request)
  const coin = asText(requestBody?.pay_currency).toLowerCase()
  const network = NETWORKS[coin]
  const price = readAmount(requestBody?.price_amount)
  const due = requestBody?.pay_amount === undefined ? price : readAmount(requestBody.pay_amount)
  if (requestBody === undefined || price === undefined || due === undefined)
    return refusal(400, "BAD_REQUEST", "price_amount must be a number")
  if (asText(requestBody.price_currency).toLowerCase() !== "usd")
    return refusal(400, "BAD_REQUEST", "price_currency must be usd")
  if (network === undefined) return refusal(400, "CURRENCY_UNAVAILABLE", `Currency ${coin} is not available`)
  if (due < MIN_AMOUNT)
    return refusal(400, "AMOUNT_MINIMAL_ERROR", `Crypto amount ${decimalText(due, DECIMALS)} is less than minimal`)
  const payment: SimulatedPayment = {
    provider: NAME,
    method: "crypto",
    reference: aReference(),
    orderNumber: asText(requestBody.order_id) || undefined,
    payTo: addressOn(network),
    shownAt: undefined,
    currency: coin,
    decimals: DECIMALS,
    due,
    received: 0n,
    state: "open",
    openedAt: now,
    changedAt: now,
    expiresAt: now + VALID_MILLIS,
    webhookUrl: asText(requestBody.ipn_callback_url) || undefined,
    requestBody: { ...requestBody, network, purchase_id: randomInt(4_000_000_000, 9_999_999_999) },
    impossible: {}
  }
  payments.put(payment)
  return json(201, created(payment))
}

/** Reads an amount exactly. JavaScript writes a number of at most 15 digits as the decimal that was sent. */
const readAmount = (value: unknown): bigint | undefined =>
  typeof value === "number" || typeof value === "string" ? readDecimal(`${value}`, DECIMALS) : undefined

/** Returns text that looks like an address but has a wrong checksum, so that wallets refuse to send money to it. */
const addressOn = (network: string): string =>
  network === "trx"
    ? `TSimuLatorNotReaL${randomBytes(16).toString("hex").replaceAll("0", "x").slice(0, 17)}`
    : `0xFa4E${randomBytes(18).toString("hex")}`

/** Converts an amount to a JSON number. An amount of at most 15 digits is written exactly. */
const numberOf = (amount: bigint): number => Number(decimalText(amount, DECIMALS))

const iso = (millis: number): string => new Date(millis).toISOString()

const STATUS: { readonly [State in SimulatedPayment["state"]]: string } = {
  open: "waiting",
  paid: "finished",
  expired: "expired",
  failed: "failed",
  cancelled: "failed"
}

const statusOf = ({ received, state }: SimulatedPayment): string =>
  state === "open" && received > 0n ? "partially_paid" : STATUS[state]

const created = (payment: SimulatedPayment): JsonObject => ({
  payment_id: payment.reference,
  payment_status: "waiting",
  pay_address: payment.payTo,
  price_amount: payment.requestBody.price_amount,
  price_currency: "usd",
  pay_amount: numberOf(payment.due ?? 0n),
  pay_currency: payment.currency,
  order_id: payment.orderNumber ?? null,
  order_description: payment.requestBody.order_description ?? null,
  ipn_callback_url: payment.webhookUrl ?? null,
  created_at: iso(payment.openedAt),
  updated_at: iso(payment.openedAt),
  purchase_id: `${payment.requestBody.purchase_id}`,
  amount_received: null,
  payin_extra_id: null,
  smart_contract: "",
  network: payment.requestBody.network,
  network_precision: DECIMALS,
  time_limit: null,
  burning_percent: null,
  expiration_estimate_date: iso(payment.openedAt + 20 * 60_000),
  is_fixed_rate: payment.requestBody.is_fixed_rate === true,
  is_fee_paid_by_user: payment.requestBody.is_fee_paid_by_user === true,
  valid_until: iso(payment.expiresAt ?? payment.openedAt),
  type: "crypto2crypto"
})

const paymentStatus = (payment: SimulatedPayment): JsonObject => ({
  payment_id: Number(payment.reference),
  invoice_id: null,
  payment_status: statusOf(payment),
  pay_address: payment.payTo,
  payin_extra_id: null,
  price_amount: payment.requestBody.price_amount,
  price_currency: "usd",
  pay_amount: numberOf(payment.due ?? 0n),
  actually_paid: numberOf(payment.received),
  pay_currency: payment.currency,
  order_id: payment.orderNumber ?? null,
  order_description: payment.requestBody.order_description ?? null,
  purchase_id: payment.requestBody.purchase_id,
  outcome_amount: numberOf(outcomeOf(payment)),
  outcome_currency: payment.currency,
  payin_hash: payment.received > 0n ? `simulated-${payment.reference}` : null,
  payout_hash: null,
  created_at: iso(payment.openedAt),
  updated_at: iso(payment.changedAt),
  burning_percent: null,
  type: "crypto2crypto"
})

/** Returns the amount that the account receives after the provider's fee of 0.5 percent. */
const outcomeOf = ({ received }: SimulatedPayment): bigint => (received * 995n) / 1_000n

const feeOf = (payment: SimulatedPayment): JsonObject => ({
  currency: payment.currency,
  depositFee: 0,
  withdrawalFee: 0,
  serviceFee: numberOf(payment.received - outcomeOf(payment))
})

const minAmount = (query: URLSearchParams): WireResponse => {
  const from = query.get("currency_from")?.toLowerCase() ?? ""
  if (NETWORKS[from] === undefined) return refusal(400, "CURRENCY_UNAVAILABLE", `Currency ${from} is not available`)
  const amount = numberOf(MIN_AMOUNT)
  const equivalent = query.has("fiat_equivalent") ? { fiat_equivalent: amount } : {}
  const to = query.get("currency_to")?.toLowerCase() ?? from
  return json(200, { currency_from: from, currency_to: to, min_amount: amount, ...equivalent })
}

/** Returns the value with the members of every object sorted by name, which is the form that is signed. */
const sorted = (value: unknown): unknown => {
  const object = asObject(value)
  if (object === undefined) return value
  return Object.fromEntries(
    Object.keys(object)
      .sort()
      .map((name) => [name, sorted(object[name])])
  )
}
