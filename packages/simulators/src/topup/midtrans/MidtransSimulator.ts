/**
 * Simulates the QRIS part of the Midtrans Core API. In a response, `status_code` in the body reports success or
 * failure, amounts are strings with two decimals, and times are Jakarta time without an offset.
 */
import { createHash, randomUUID } from "node:crypto"
import { asCount, asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { PAID_EXACTLY, qrisContent, qrPicture } from "../payment/QrisContent.ts"
import type { SimulatedPayment } from "../payment/SimulatedPayment.ts"
import type { SimulatedPayments } from "../payment/SimulatedPayments.ts"
import {
  headerOf,
  json,
  readObject,
  type SimulatedProvider,
  type SimulatedProviderDescriptor,
  svg,
  type WireRequest,
  type WireResponse
} from "../payment/SimulatedProvider.ts"

const NAME = "midtrans"
export const SIMULATED_MIDTRANS = {
  serverKey: "SIMULATOR-NOT-A-KEY-midtrans-server",
  merchantId: "GSIMULATED"
} as const
const MAX_IDR = 10_000_000n
const DEFAULT_EXPIRY_MILLIS = 15 * 60_000
const AUTHORIZATION = `Basic ${Buffer.from(`${SIMULATED_MIDTRANS.serverKey}:`).toString("base64")}`

export const midtransSimulator: SimulatedProviderDescriptor = {
  name: NAME,
  simulate: (payments) => simulate(payments),
  environment: ({ simulatorUrl }) => ({
    MIDTRANS_BASE_URL: `${simulatorUrl}/${NAME}`,
    MIDTRANS_SERVER_KEY: SIMULATED_MIDTRANS.serverKey
  })
}

const simulate = (payments: SimulatedPayments): SimulatedProvider => ({
  name: NAME,
  respond: (request) => {
    const { method, path, now } = request
    const pictured = PICTURE.exec(path)?.[1]
    if (method === "GET" && pictured !== undefined) return picture(payments.named(pictured, now, NAME)[0])
    if (request.headers.authorization !== AUTHORIZATION) return refusal(401, "Unknown Merchant server_key/id", 401)
    if (method === "POST" && path === "/v2/charge") return charge(payments, request)
    const [, name = "", verb] = ONE_TRANSACTION.exec(path) ?? []
    const payment = payments.named(name, now, NAME).at(-1)
    if (method === "GET" && verb === "status") return payment === undefined ? unknown() : statusResponse(payment)
    if (method === "POST" && verb === "cancel") return close(payments, payment, "cancelled", now)
    if (method === "POST" && verb === "expire") return close(payments, payment, "expired", now)
    return refusal(404, "The requested resource is not found", 404)
  },
  carryOut: (_before, _after, now) => now,
  webhook: (payment) => ({
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...transaction(payment), status_message: "midtrans payment notification" })
  })
})

const PICTURE = /^\/v[24]\/qris\/(?:gopay\/)?([\w-]+)\/qr-code$/
const ONE_TRANSACTION = /^\/v2\/([\w.~-]+)\/(status|cancel|expire)$/

/**
 * Builds the response to a failed call. Most responses to failed calls have the HTTP status 200; `status_code` in the
 * body reports the failure.
 */
const refusal = (code: number, message: string, status = 200, more: JsonObject = {}): WireResponse =>
  json(status, { status_code: `${code}`, status_message: message, ...more, id: randomUUID() })

const unknown = () => refusal(404, "Transaction doesn't exist.")

const charge = (payments: SimulatedPayments, request: WireRequest): WireResponse => {
  const { now, origin } = request
  const requestBody = readObject(request)
  const { order_id, gross_amount } = asObject(requestBody?.transaction_details) ?? {}
  const orderNumber = asText(order_id)
  const due = wholeRupiah(gross_amount)
  if (requestBody === undefined || requestBody.payment_type !== "qris") return invalid("payment_type is not supported")
  if (!/^[\w.~-]{1,50}$/.test(orderNumber)) return invalid("transaction_details.order_id must be 1 to 50 characters")
  if (due === undefined) return invalid("transaction_details.gross_amount must be a whole number")
  if (due < 1n || due > MAX_IDR) return invalid(`transaction_details.gross_amount must be between 1 and ${MAX_IDR}`)
  const idempotencyKey = headerOf(request, "idempotency-key")
  const earlier = payments.named(orderNumber, now, NAME).at(-1)
  if (earlier !== undefined) {
    const repeated = idempotencyKey !== undefined && earlier.requestBody.idempotency_key === idempotencyKey
    return repeated ? charged(earlier, origin) : refusal(406, "transaction_details.order_id has already been taken")
  }
  const transactionId = randomUUID()
  const payment: SimulatedPayment = {
    provider: NAME,
    method: "qris",
    reference: transactionId,
    orderNumber,
    payTo: undefined,
    shownAt: `/${NAME}/v2/qris/${transactionId}/qr-code`,
    currency: "IDR",
    decimals: 0,
    due,
    received: 0n,
    state: "open",
    openedAt: now,
    changedAt: now,
    expiresAt: now + expiryMillis(asObject(requestBody.custom_expiry)),
    webhookUrl: headerOf(request, "x-override-notification")?.split(",")[0]?.trim(),
    requestBody: { ...requestBody, idempotency_key: idempotencyKey },
    impossible: PAID_EXACTLY
  }
  payments.put(payment)
  return charged(payment, origin)
}

const invalid = (message: string): WireResponse =>
  refusal(400, "One or more parameters in the payload is invalid.", 200, { validation_messages: [message] })

const wholeRupiah = (value: unknown): bigint | undefined => {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : undefined
  return typeof value === "string" && /^\d{1,15}(\.0{1,2})?$/.test(value)
    ? BigInt(value.split(".")[0] ?? "")
    : undefined
}

const UNIT_MILLIS: { readonly [unit: string]: number } = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000
}

const expiryMillis = (expiry: JsonObject | undefined): number => {
  const unit = UNIT_MILLIS[asText(expiry?.unit) || "minute"]
  const duration = asCount(expiry?.expiry_duration)
  return unit === undefined || duration === undefined ? DEFAULT_EXPIRY_MILLIS : duration * unit
}

/**
 * Builds the response to a charge. It contains the QRIS code. It omits the members that only status responses and
 * notifications have.
 */
const charged = (payment: SimulatedPayment, origin: string): WireResponse => {
  const { transaction_status, status_code, signature_key, issuer, settlement_time, ...known } = transaction(payment)
  const path = `qris/${payment.reference}/qr-code`
  return json(200, {
    ...known,
    status_code: "201",
    status_message: "QRIS transaction is created",
    transaction_status: "pending",
    qr_string: contentOf(payment),
    actions: [
      { name: "generate-qr-code", method: "GET", url: `${origin}/${NAME}/v2/${path}` },
      {
        name: "generate-qr-code-v2",
        method: "GET",
        url: `${origin}/${NAME}/v4/qris/gopay/${payment.reference}/qr-code`
      }
    ]
  })
}

const contentOf = (payment: SimulatedPayment): string => qrisContent(payment.due ?? 0n, payment.reference)

const picture = (payment: SimulatedPayment | undefined): WireResponse =>
  payment === undefined ? refusal(404, "QR code is not found", 404) : svg(qrPicture(contentOf(payment)))

const STATUS: { readonly [State in SimulatedPayment["state"]]: readonly [code: string, status: string] } = {
  open: ["201", "pending"],
  paid: ["200", "settlement"],
  expired: ["407", "expire"],
  failed: ["202", "deny"],
  cancelled: ["200", "cancel"]
}

/** Returns the members that status responses and notifications have in common. */
const transaction = (payment: SimulatedPayment) => {
  const [statusCode, status] = STATUS[payment.state]
  const grossAmount = `${payment.due}.00`
  const signed = `${payment.orderNumber}${statusCode}${grossAmount}${SIMULATED_MIDTRANS.serverKey}`
  return {
    status_code: statusCode,
    status_message: "Success, transaction is found",
    transaction_id: payment.reference,
    order_id: payment.orderNumber,
    merchant_id: SIMULATED_MIDTRANS.merchantId,
    gross_amount: grossAmount,
    currency: payment.currency,
    payment_type: "qris",
    transaction_type: "off-us",
    transaction_time: jakartaTime(payment.openedAt),
    transaction_status: status,
    fraud_status: "accept",
    acquirer: asText(asObject(payment.requestBody.qris)?.acquirer) || "gopay",
    expiry_time: jakartaTime(payment.expiresAt ?? payment.openedAt),
    signature_key: createHash("sha512").update(signed).digest("hex"),
    ...(payment.state === "paid" ? { issuer: "simulated", settlement_time: jakartaTime(payment.changedAt) } : {})
  }
}

const statusResponse = (payment: SimulatedPayment): WireResponse => json(200, transaction(payment))

const close = (
  payments: SimulatedPayments,
  payment: SimulatedPayment | undefined,
  state: "cancelled" | "expired",
  now: number
): WireResponse => {
  if (payment === undefined) return unknown()
  if (payment.state !== "open") return refusal(412, "Transaction status cannot be updated.")
  const closed: SimulatedPayment = { ...payment, state, changedAt: now }
  payments.put(closed)
  return json(200, { ...transaction(closed), status_message: `Success, transaction is ${state}` })
}

const jakartaTime = (millis: number): string =>
  new Date(millis + 7 * 3_600_000).toISOString().slice(0, 19).replace("T", " ")
