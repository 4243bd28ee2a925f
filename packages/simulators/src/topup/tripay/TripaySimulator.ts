/**
 * Simulates Tripay's API for QRIS payments of a fixed amount on a hosted page. The member `success` of a response
 * states whether the request succeeded. Amounts are JSON integers. Times are Unix seconds. They are JSON numbers,
 * except `paid_at` in the response with the details of a payment, which is a string.
 */
import { createHmac, randomBytes } from "node:crypto"
import { asArray, asCount, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { PAID_EXACTLY, qrisContent, qrPicture } from "../payment/QrisContent.ts"
import type { SimulatedPayment } from "../payment/SimulatedPayment.ts"
import type { SimulatedPayments } from "../payment/SimulatedPayments.ts"
import {
  html,
  json,
  readObject,
  type SimulatedProvider,
  type SimulatedProviderDescriptor,
  svg,
  type WireRequest,
  type WireResponse
} from "../payment/SimulatedProvider.ts"
import { checkoutPage } from "../payment/SimulatorPage.ts"

const NAME = "tripay"
export const SIMULATED_TRIPAY = {
  apiKey: "SIMULATOR-NOT-A-KEY-tripay-api",
  privateKey: "SIMULATOR-NOT-A-KEY-tripay-private",
  merchantCode: "TSIMULATED",
  channel: "QRIS2"
} as const
const CHANNELS = ["QRIS", "QRIS2", "QRISC"]
const MIN_IDR = 1_000
const MAX_IDR = 5_000_000
const DEFAULT_EXPIRY_SECONDS = 86_400

export const tripaySimulator: SimulatedProviderDescriptor = {
  name: NAME,
  simulate: (payments) => simulate(payments),
  environment: ({ gatewayUrl, simulatorUrl }) => ({
    TRIPAY_BASE_URL: `${simulatorUrl}/${NAME}`,
    TRIPAY_API_KEY: SIMULATED_TRIPAY.apiKey,
    TRIPAY_PRIVATE_KEY: SIMULATED_TRIPAY.privateKey,
    TRIPAY_MERCHANT_CODE: SIMULATED_TRIPAY.merchantCode,
    TRIPAY_CHANNEL: SIMULATED_TRIPAY.channel,
    ...(gatewayUrl === undefined ? {} : { TRIPAY_RETURN_URL: gatewayUrl })
  })
}

const simulate = (payments: SimulatedPayments): SimulatedProvider => ({
  name: NAME,
  respond: (request) => {
    const { headers, method, now, origin, path, query } = request
    const [, place, shown = ""] = /^\/(checkout|qr)\/(\w+)$/.exec(path) ?? []
    if (method === "GET" && place !== undefined) return show(place, payments.named(shown, now, NAME)[0], origin)
    if (headers.authorization !== `Bearer ${SIMULATED_TRIPAY.apiKey}`) return refusal(401, "Invalid API Key")
    if (method === "POST" && path === "/transaction/create") return create(payments, request)
    if (method !== "GET") return refusal(404, "Not found")
    const found = [query.get("reference"), query.get("merchant_ref")].flatMap((name) =>
      payments.named(name ?? "", now, NAME)
    )
    switch (path) {
      case "/transaction/detail":
      case "/transaction/check-status": {
        const payment = found.find(({ reference }) => reference === query.get("reference"))
        if (payment === undefined) return refusal(404, "Transaction not found")
        return path.endsWith("detail")
          ? success({ ...transaction(payment, origin), paid_at: paidAt(payment)?.toString() ?? null })
          : json(200, { success: true, message: `Status transaksi saat ini ${STATUS[payment.state]}` })
      }
      case "/merchant/transactions":
        return listed(found, origin)
      case "/merchant/payment-channel":
        return json(200, { success: true, message: "Success", data: channels(query.get("code")) })
      default:
        return refusal(404, "Not found")
    }
  },
  carryOut: (_before, _after, now) => now,
  webhook: (payment) => {
    const body = JSON.stringify(notification(payment))
    return {
      headers: {
        "content-type": "application/json",
        "x-callback-event": "payment_status",
        "x-callback-signature": sign(body)
      },
      body
    }
  }
})

const success = (data: JsonObject): WireResponse => json(200, { success: true, message: "", data })

const refusal = (status: number, message: string): WireResponse => json(status, { success: false, message })

const sign = (text: string): string => createHmac("sha256", SIMULATED_TRIPAY.privateKey).update(text).digest("hex")

const create = (payments: SimulatedPayments, request: WireRequest): WireResponse => {
  const { now, origin } = request
  const requestBody = readObject(request)
  if (requestBody === undefined) return refusal(400, "The request is not JSON")
  const amount = asCount(requestBody.amount)
  const channel = asText(requestBody.method)
  const orderNumber = asText(requestBody.merchant_ref)
  const expiresAt = asCount(requestBody.expired_time) ?? Math.floor(now / 1_000) + DEFAULT_EXPIRY_SECONDS
  if (!CHANNELS.includes(channel)) return refusal(400, "Payment channel is not enabled")
  if (amount === undefined || !Number.isSafeInteger(amount)) return refusal(400, "The amount must be an integer")
  if (requestBody.signature !== sign(`${SIMULATED_TRIPAY.merchantCode}${orderNumber}${amount}`))
    return refusal(403, "Invalid signature")
  if (amount < MIN_IDR) return refusal(400, `Minimum amount for this channel is ${MIN_IDR}`)
  if (amount > MAX_IDR) return refusal(400, `Maximum amount for this channel is ${MAX_IDR}`)
  if (asText(requestBody.customer_name) === "") return refusal(400, "The customer name field is required.")
  if (asText(requestBody.customer_email) === "") return refusal(400, "The customer email field is required.")
  if (sumOf(requestBody.order_items) !== amount) return refusal(400, "The sum of order items is not the amount")
  if (expiresAt * 1_000 <= now) return refusal(400, "The expired time must be in the future")
  const reference = `T0000SIM${randomBytes(6).toString("hex").toUpperCase()}`
  const payment: SimulatedPayment = {
    provider: NAME,
    method: "hosted_qris",
    reference,
    orderNumber,
    payTo: undefined,
    shownAt: `/${NAME}/checkout/${reference}`,
    currency: "IDR",
    decimals: 0,
    due: BigInt(amount),
    received: 0n,
    state: "open",
    openedAt: now,
    changedAt: now,
    expiresAt: expiresAt * 1_000,
    webhookUrl: asText(requestBody.callback_url) || undefined,
    requestBody,
    impossible: PAID_EXACTLY
  }
  payments.put(payment)
  return success(transaction(payment, origin))
}

const sumOf = (items: unknown): number =>
  asArray(items)
    .map(asObject)
    .reduce((sum, item) => sum + (asCount(item?.price) ?? 0) * (asCount(item?.quantity) ?? 0), 0)

const STATUS: { readonly [State in SimulatedPayment["state"]]: string } = {
  open: "UNPAID",
  paid: "PAID",
  expired: "EXPIRED",
  failed: "FAILED",
  cancelled: "FAILED"
}

const FEE_FLAT = 750n

/** Returns the amounts of a payment. The merchant pays the fee: 0.7 percent and a fixed part. */
const fees = ({ due = 0n }: SimulatedPayment) => {
  const fee = FEE_FLAT + (due * 7n + 999n) / 1_000n
  return {
    amount: jsonNumber(due),
    fee_merchant: jsonNumber(fee),
    fee_customer: 0,
    total_fee: jsonNumber(fee),
    amount_received: jsonNumber(due - fee)
  }
}

/** Converts an amount to a JSON number. The conversion is exact, because the maximum amount is far below 2^53. */
const jsonNumber = (amount: bigint): number => Number(amount)

const transaction = (payment: SimulatedPayment, origin: string): JsonObject => {
  const { amount, ...deducted } = fees(payment)
  const { requestBody, reference } = payment
  return {
    reference,
    merchant_ref: payment.orderNumber,
    payment_selection_type: "static",
    payment_method: requestBody.method,
    payment_name: "QRIS",
    customer_name: requestBody.customer_name,
    customer_email: requestBody.customer_email,
    customer_phone: requestBody.customer_phone ?? null,
    callback_url: requestBody.callback_url ?? null,
    return_url: requestBody.return_url ?? null,
    amount,
    ...deducted,
    pay_code: null,
    pay_url: null,
    checkout_url: `${origin}/${NAME}/checkout/${reference}`,
    status: STATUS[payment.state],
    expired_time: seconds(payment.expiresAt ?? payment.openedAt),
    order_items: asArray(requestBody.order_items),
    instructions: [{ title: "Simulated payment", steps: [`Press Pay at ${origin}/`] }],
    qr_string: contentOf(payment),
    qr_url: `${origin}/${NAME}/qr/${reference}`
  }
}

const seconds = (millis: number): number => Math.floor(millis / 1_000)

const paidAt = ({ changedAt, state }: SimulatedPayment): number | null => (state === "paid" ? seconds(changedAt) : null)

const contentOf = (payment: SimulatedPayment): string => qrisContent(payment.due ?? 0n, payment.reference)

const listed = (found: ReadonlyArray<SimulatedPayment>, origin: string): WireResponse =>
  json(200, {
    success: true,
    message: "Success",
    data: found.map((payment) => ({
      ...transaction(payment, origin),
      note: null,
      created_at: seconds(payment.openedAt),
      expired_at: seconds(payment.expiresAt ?? payment.openedAt),
      paid_at: paidAt(payment)
    })),
    pagination: {
      sort: "desc",
      offset: { from: Math.min(1, found.length), to: found.length },
      current_page: 1,
      previous_page: null,
      next_page: null,
      last_page: 1,
      per_page: 25,
      total_records: found.length
    }
  })

const channels = (code: string | null): ReadonlyArray<JsonObject> =>
  CHANNELS.filter((channel) => code === null || channel === code).map((channel) => ({
    group: "E-Wallet",
    code: channel,
    name: "QRIS (simulated)",
    type: "direct",
    fee_merchant: { flat: jsonNumber(FEE_FLAT), percent: 0.7 },
    fee_customer: { flat: 0, percent: 0 },
    total_fee: { flat: jsonNumber(FEE_FLAT), percent: "0.70" },
    minimum_fee: jsonNumber(FEE_FLAT),
    maximum_fee: null,
    minimum_amount: MIN_IDR,
    maximum_amount: MAX_IDR,
    icon_url: null,
    active: true
  }))

const notification = (payment: SimulatedPayment): JsonObject => {
  const { amount, ...deducted } = fees(payment)
  return {
    reference: payment.reference,
    merchant_ref: payment.orderNumber,
    payment_method: "QRIS (simulated)",
    payment_method_code: payment.requestBody.method,
    total_amount: amount,
    ...deducted,
    is_closed_payment: 1,
    status: STATUS[payment.state],
    paid_at: paidAt(payment),
    note: null
  }
}

const show = (place: string, payment: SimulatedPayment | undefined, origin: string): WireResponse => {
  if (payment === undefined) return refusal(404, "Transaction not found")
  if (place === "qr") return svg(qrPicture(contentOf(payment)))
  return html(checkoutPage(payment, `${origin}/${NAME}/qr/${payment.reference}`))
}
