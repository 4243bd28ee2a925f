/**
 * The payment providers this deployment has an account with, one for each method at most.
 */
import { type PaymentProvider, PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as BscPayments from "./bsc/BscPayments.ts"
import type { BscSettings } from "./bsc/BscSettings.ts"
import * as Midtrans from "./midtrans/Midtrans.ts"
import * as NowPayments from "./nowpayments/NowPayments.ts"
import * as Tripay from "./tripay/Tripay.ts"
import type { MidtransSettings, NowPaymentsSettings, TripaySettings } from "./wire/PaymentSettings.ts"

/** What is left out cannot be paid by. */
export interface PaymentAccounts {
  readonly qris?: MidtransSettings | undefined
  readonly hostedQris?: TripaySettings | undefined
  readonly crypto?: NowPaymentsSettings | undefined
  readonly cryptoBep20?: BscSettings | undefined
}

export interface ConfiguredProvidersSettings {
  /** Who takes new payments. */
  readonly current: PaymentAccounts
  /**
   * Who took payments before, and is asked for those that are still open. An account that has the label of a current
   * one is not told apart from it, and is left out.
   */
  readonly earlier?: PaymentAccounts | undefined
  /** Put around every provider, for example to tell a simulator what its wires cannot. */
  readonly around?: ((provider: PaymentProvider) => PaymentProvider) | undefined
}

export const make = ({
  current,
  earlier = {},
  around = identity
}: ConfiguredProvidersSettings): Effect.Effect<typeof PaymentProviders.Service, never, Scope.Scope> =>
  Effect.gen(function* () {
    const now = Arr.map(yield* providersOf(current), around)
    const before = Arr.map(yield* providersOf(earlier), around)
    const all = Arr.dedupeWith([...now, ...before], (a, b) => a.label === b.label)
    return PaymentProviders.of({
      forMethod: (method) => Arr.findFirst(now, (provider) => provider.method === method),
      byLabel: (label) => Arr.findFirst(all, (provider) => provider.label === label),
      all
    })
  })

export const layer = (settings: ConfiguredProvidersSettings): Layer.Layer<PaymentProviders> =>
  Layer.scoped(PaymentProviders, make(settings))

const providersOf = ({
  qris,
  hostedQris,
  crypto,
  cryptoBep20
}: PaymentAccounts): Effect.Effect<ReadonlyArray<PaymentProvider>, never, Scope.Scope> =>
  Effect.all([
    ...(qris === undefined ? [] : [Midtrans.make(qris)]),
    ...(hostedQris === undefined ? [] : [Tripay.make(hostedQris)]),
    ...(crypto === undefined ? [] : [NowPayments.make(crypto)]),
    ...(cryptoBep20 === undefined ? [] : [BscPayments.make(cryptoBep20)])
  ])
