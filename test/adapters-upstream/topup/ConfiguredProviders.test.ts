import { it } from "@effect/vitest"
import * as ConfiguredProviders from "@tollgate/adapters-upstream/topup/ConfiguredProviders"
import type {
  MidtransSettings,
  NowPaymentsSettings,
  TripaySettings
} from "@tollgate/adapters-upstream/topup/wire/PaymentSettings"
import { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import { Effect, Option, Redacted } from "effect"
import { describe, expect } from "vitest"
import { anAccount } from "./Payments.ts"

const SECRET = Redacted.make("a-secret")
const midtrans = (baseUrl: string, simulated = false): MidtransSettings => ({
  ...anAccount({ baseUrl, simulated }),
  serverKey: SECRET,
  acquirer: "gopay"
})
const tripay: TripaySettings = {
  ...anAccount({ baseUrl: "https://tripay.co.id/api", simulated: false }),
  apiKey: SECRET,
  privateKey: SECRET,
  merchantCode: "T0001",
  channel: "QRIS2",
  returnUrl: undefined
}
const nowPayments: NowPaymentsSettings = {
  ...anAccount({ baseUrl: "https://api.nowpayments.io", simulated: false }),
  apiKey: SECRET,
  ipnSecret: SECRET,
  currencies: ["usdttrc20"]
}

const labelOf = Option.map(({ label }: { readonly label: string }) => label)

describe("the providers of a deployment", () => {
  it.scoped("take new payments of the methods that are configured, and of no others", () =>
    Effect.gen(function* () {
      const { forMethod, all } = yield* PaymentProviders
      expect(labelOf(forMethod("qris"))).toEqual(Option.some("midtrans"))
      expect(labelOf(forMethod("hosted_qris"))).toEqual(Option.some("tripay"))
      expect(labelOf(forMethod("crypto"))).toEqual(Option.some("nowpayments"))
      expect(labelOf(forMethod("crypto_bep20"))).toEqual(Option.none())
      expect(all.map(({ name, webhook }) => [name, webhook !== undefined])).toEqual([
        ["midtrans", true],
        ["tripay", true],
        ["nowpayments", true]
      ])
    }).pipe(
      Effect.provide(
        ConfiguredProviders.layer({
          current: { qris: midtrans("https://api.midtrans.com"), hostedQris: tripay, crypto: nowPayments }
        })
      )
    )
  )

  it.scoped("answer for the orders they opened before, without taking new ones", () =>
    Effect.gen(function* () {
      const { forMethod, byLabel, all } = yield* ConfiguredProviders.make({
        current: { qris: midtrans("https://api.midtrans.com") },
        earlier: { qris: midtrans("https://api.sandbox.midtrans.com"), hostedQris: tripay }
      })
      expect(labelOf(forMethod("qris"))).toEqual(Option.some("midtrans"))
      expect(forMethod("hosted_qris")).toEqual(Option.none())
      expect(labelOf(byLabel("midtrans-sandbox"))).toEqual(Option.some("midtrans-sandbox"))
      expect(labelOf(byLabel("tripay"))).toEqual(Option.some("tripay"))
      expect(byLabel("midtrans-simulator")).toEqual(Option.none())
      expect(all.map(({ label }) => label)).toEqual(["midtrans", "midtrans-sandbox", "tripay"])
    })
  )

  it.scoped("are the current ones where an earlier one has the same label", () =>
    Effect.gen(function* () {
      const { byLabel, all, forMethod } = yield* ConfiguredProviders.make({
        current: { qris: midtrans("https://api.midtrans.com") },
        earlier: { qris: midtrans("https://api.midtrans.com") }
      })
      expect(all.length).toBe(1)
      expect(byLabel("midtrans")).toEqual(forMethod("qris"))
    })
  )

  it.scoped("can have something put around them", () =>
    Effect.gen(function* () {
      const { all } = yield* ConfiguredProviders.make({
        current: { qris: midtrans("https://api.midtrans.com") },
        earlier: { hostedQris: tripay },
        around: (provider) => ({ ...provider, name: `around ${provider.name}` })
      })
      expect(all.map(({ name }) => name)).toEqual(["around midtrans", "around tripay"])
    })
  )
})
