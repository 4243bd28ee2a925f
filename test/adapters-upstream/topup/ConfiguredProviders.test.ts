import { it } from "@effect/vitest"
import * as ConfiguredProviders from "@tollgate/adapters-upstream/topup/ConfiguredProviders"
import * as Midtrans from "@tollgate/adapters-upstream/topup/midtrans/Midtrans"
import * as NowPayments from "@tollgate/adapters-upstream/topup/nowpayments/NowPayments"
import * as Tripay from "@tollgate/adapters-upstream/topup/tripay/Tripay"
import { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import { Effect, Option, Redacted } from "effect"
import { describe, expect } from "vitest"
import { anAccount } from "./Payments.ts"

const SECRET = Redacted.make("a-secret")
const midtrans = (baseUrl: string) =>
  Midtrans.make({ ...anAccount({ baseUrl, atSimulator: false }), serverKey: SECRET, acquirer: "gopay" })
const tripay = Tripay.make({
  ...anAccount({ baseUrl: "https://tripay.co.id/api", atSimulator: false }),
  apiKey: SECRET,
  privateKey: SECRET,
  merchantCode: "T0001",
  channel: "QRIS2",
  returnUrl: undefined
})
const nowPayments = NowPayments.make({
  ...anAccount({ baseUrl: "https://api.nowpayments.io", atSimulator: false }),
  apiKey: SECRET,
  ipnSecret: SECRET,
  currencies: ["usdttrc20"]
})

const labelOf = Option.map(({ label }: { readonly label: string }) => label)

describe("the providers of a deployment", () => {
  it.scoped("take new payments for the configured methods", () =>
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
          current: [midtrans("https://api.midtrans.com"), tripay, nowPayments]
        })
      )
    )
  )

  it.scoped("include the providers of an earlier configuration", () =>
    Effect.gen(function* () {
      const { forMethod, byLabel, all } = yield* ConfiguredProviders.make({
        current: [midtrans("https://api.midtrans.com")],
        earlier: [midtrans("https://api.sandbox.midtrans.com"), tripay]
      })
      expect(labelOf(forMethod("qris"))).toEqual(Option.some("midtrans"))
      expect(forMethod("hosted_qris")).toEqual(Option.none())
      expect(labelOf(byLabel("midtrans-sandbox"))).toEqual(Option.some("midtrans-sandbox"))
      expect(labelOf(byLabel("tripay"))).toEqual(Option.some("tripay"))
      expect(byLabel("midtrans-simulator")).toEqual(Option.none())
      expect(all.map(({ label }) => label)).toEqual(["midtrans", "midtrans-sandbox", "tripay"])
    })
  )

  it.scoped("include no earlier provider with the label of a current provider", () =>
    Effect.gen(function* () {
      const { byLabel, all, forMethod } = yield* ConfiguredProviders.make({
        current: [midtrans("https://api.midtrans.com")],
        earlier: [midtrans("https://api.midtrans.com")]
      })
      expect(all.length).toBe(1)
      expect(byLabel("midtrans")).toEqual(forMethod("qris"))
    })
  )

  it.scoped("are wrapped by the function `wrap` of their simulator", () =>
    Effect.gen(function* () {
      const all = yield* Effect.all(
        ConfiguredProviders.simulatedProviders(
          { qris: 15, hosted_qris: 60, crypto: 60, crypto_bep20: 60 },
          {
            simulation: {
              counterparts: [
                {
                  name: "midtrans",
                  environment: () => ({ MIDTRANS_SERVER_KEY: "a-key" }),
                  wrap: (provider, simulatorUrl) => ({ ...provider, name: `${provider.name} at ${simulatorUrl}` })
                },
                { name: "tripay", environment: () => TRIPAY_KEYS }
              ],
              startOrJoin: () => Effect.dieMessage("not started")
            },
            simulatorUrl: "http://127.0.0.1:1",
            deployment: "a",
            gatewayUrl: undefined
          }
        )
      )
      expect(all.map(({ label, name }) => `${name}, ${label}`)).toEqual([
        "midtrans at http://127.0.0.1:1, midtrans-simulator",
        "tripay, tripay-simulator"
      ])
    })
  )
})

const TRIPAY_KEYS = { TRIPAY_API_KEY: "a-key", TRIPAY_PRIVATE_KEY: "a-key", TRIPAY_MERCHANT_CODE: "T1" }
