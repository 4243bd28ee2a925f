/**
 * Creates orders and accounts for the tests of payment providers.
 */
import type { AccountSettings } from "@tollgate/adapters-upstream/topup/wire/PaymentAccount"
import type { AmountDue, PaymentIntent } from "@tollgate/application/topup/PaymentProviders"
import { Idr } from "@tollgate/domain/money/Idr"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OrderId, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Email } from "@tollgate/domain/validation/Email"
import { Effect, Logger } from "effect"

export const ORDER_ID = OrderId.make("5f0c7f0e-4b0f-4c55-9b52-1f6f8a3d2c11")
export const ORDER_NUMBER = orderNumberOf(ORDER_ID)
export const OTHER_NUMBER = "RTO-00000000-0000-4000-8000-000000000000"

const anIntent = (method: PaymentIntent["method"], due: AmountDue): PaymentIntent => ({
  orderId: ORDER_ID,
  orderNumber: ORDER_NUMBER,
  method,
  due,
  payer: { name: "Toko Sumber Jaya", email: Email.make("owner@toko.example") },
  depositIndex: undefined,
  createdAt: new Date("2026-11-20T04:30:00.000Z")
})

export const aRupiahIntent = (method: "qris" | "hosted_qris", total = 105_000n) =>
  anIntent(method, { _tag: "Rupiah", totalIdr: Idr(total) })

export const aDollarIntent = (amount = 25_000_123n) =>
  anIntent("crypto", { _tag: "Dollars", amountUsdMicro: UsdMicro(amount), tokenKind: "usdt" })

/** The timeout is so long that a call does not reach it, even on a busy machine. */
export const LONG_TIMEOUT = { timeoutMillis: 60_000, retryPauseMillis: 1 }

export const anAccount = (parts: Partial<AccountSettings> & { readonly baseUrl: string }): AccountSettings => ({
  atSimulator: true,
  webhookUrl: "https://tollgate.example/webhooks/payments/here",
  expiryMinutes: 15,
  limits: LONG_TIMEOUT,
  ...parts
})

/** Removes the logger, for tests that cause warnings. */
export const quiet = Effect.provide(Logger.remove(Logger.defaultLogger))
