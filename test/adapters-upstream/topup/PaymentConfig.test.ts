import { HDKey } from "@scure/bip32"
import * as ConfiguredProviders from "@tollgate/adapters-upstream/topup/ConfiguredProviders"
import { type PaymentConfig, readPaymentConfig } from "@tollgate/adapters-upstream/topup/PaymentConfig"
import { PaymentVariables } from "@tollgate/adapters-upstream/topup/PaymentVariables"
import { readSettings } from "@tollgate/application/operations/EnvironmentSchema"
import { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import { paymentSimulation } from "@tollgate/simulators/topup/PaymentSimulator"
import { Effect, Either } from "effect"
import { describe, expect, it } from "vitest"

const read = (environment: Record<string, string>, mode: "development" | "production" = "development") =>
  Either.flatMap(readSettings(PaymentVariables)(environment), (values) =>
    readPaymentConfig(values, { production: mode === "production" })
  )
const config = (environment: Record<string, string>, mode?: "production"): PaymentConfig =>
  Either.getOrThrowWith(read(environment, mode), (reasons) => new Error(reasons.join("\n")))
const refusals = (environment: Record<string, string>, mode?: "production"): ReadonlyArray<string> =>
  Either.match(read(environment, mode), { onLeft: (reasons) => reasons, onRight: () => [] })

const wallet = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/60'/0'/0")
const MIDTRANS = { MIDTRANS_SERVER_KEY: "Mid-server-hunter2" }
const TRIPAY = { TRIPAY_API_KEY: "hunter2", TRIPAY_PRIVATE_KEY: "hunter2", TRIPAY_MERCHANT_CODE: "T1" }
const NOWPAYMENTS = { NOWPAYMENTS_API_KEY: "hunter2", NOWPAYMENTS_IPN_SECRET: "hunter2" }
const BSC = { BSC_RPC_URLS: "https://one.example/key-hunter2, https://two.example", BSC_XPUB: wallet.publicExtendedKey }
const ALL = { ...MIDTRANS, ...TRIPAY, ...NOWPAYMENTS, ...BSC }

const settingsOf = ({ providers }: PaymentConfig, name: string) =>
  providers.find((provider) => provider.name === name)?.settings

/** Returns the method, the label and the `simulated` flag of each provider. */
const labelsOf = ({ expiryMinutes, providers, simulatorPort }: PaymentConfig) => {
  const simulated = { simulation: paymentSimulation, simulatorUrl: "http://127.0.0.1:1", deployment: "test" }
  const current =
    simulatorPort === undefined
      ? providers.map(({ make }) => make)
      : ConfiguredProviders.simulatedProviders(expiryMinutes, { ...simulated, gatewayUrl: undefined })
  return PaymentProviders.pipe(
    Effect.map(({ all }) => all.map(({ label, method, simulated }) => `${method} ${label} ${simulated}`)),
    Effect.provide(ConfiguredProviders.layer({ current })),
    Effect.runPromise
  )
}

describe("without a configured provider", () => {
  it("the simulator takes all payments in development", async () => {
    const simulated = config({})
    expect(simulated.simulatorPort).toBe(4010)
    expect(await labelsOf(simulated)).toEqual([
      "qris midtrans-simulator true",
      "hosted_qris tripay-simulator true",
      "crypto nowpayments-simulator true",
      "crypto_bep20 bsc-simulator true"
    ])
  })

  it("production takes no payments", async () => {
    const real = config({}, "production")
    expect(real.simulatorPort).toBeUndefined()
    expect(await labelsOf(real)).toEqual([])
  })

  it("no provider takes payments if the simulator is off", async () => {
    expect(await labelsOf(config({ PAYMENTS_SIMULATOR: "off" }))).toEqual([])
  })

  it("production refuses the simulator", () => {
    expect(refusals({ PAYMENTS_SIMULATOR: "on" }, "production")).toEqual([
      "PAYMENTS_SIMULATOR: simulated payments are not allowed in production; unset it"
    ])
  })
})

describe("with configured providers", () => {
  it("each provider takes the payments of its method", async () => {
    const settings = config({ ...ALL, PUBLIC_BASE_URL: "https://gateway.example.com/" }, "production")
    expect(settings.simulatorPort).toBeUndefined()
    expect(await labelsOf(settings)).toEqual([
      "qris midtrans false",
      "hosted_qris tripay false",
      "crypto nowpayments false",
      "crypto_bep20 bsc false"
    ])
    expect(settingsOf(settings, "midtrans")).toMatchObject({
      webhookUrl: "https://gateway.example.com/webhooks/payments/midtrans"
    })
    expect(settingsOf(settings, "bsc")).toMatchObject({ rpcUrls: { length: 2 } })
  })

  it("the methods of other providers are off", async () => {
    expect(await labelsOf(config(TRIPAY))).toEqual(["hosted_qris tripay false"])
  })

  it("the providers get no webhook URL without PUBLIC_BASE_URL", () => {
    expect(settingsOf(config(ALL), "nowpayments")).toMatchObject({ webhookUrl: undefined })
  })

  it("the simulator is refused", () => {
    expect(refusals({ ...MIDTRANS, PAYMENTS_SIMULATOR: "on" })).toEqual([
      "PAYMENTS_SIMULATOR: cannot be used together with a payment provider; unset it, or unset MIDTRANS_SERVER_KEY"
    ])
  })

  it("the configured expiry times apply to payments", () => {
    const minutes = { TOPUP_EXPIRY_QRIS_MIN: "7", TOPUP_EXPIRY_CRYPTO_BEP20_MIN: "90" }
    expect(settingsOf(config({ ...ALL, ...minutes }), "midtrans")).toMatchObject({ expiryMinutes: 7 })
    expect(settingsOf(config({ ...ALL, ...minutes }), "bsc")).toMatchObject({ expiryMinutes: 90 })
    expect(config(minutes).expiryMinutes).toEqual({ qris: 7, hosted_qris: 60, crypto: 60, crypto_bep20: 90 })
  })
})

describe("the check of the payment settings", () => {
  it("reports a provider's missing variables in one line", () => {
    expect(refusals({ TRIPAY_API_KEY: "hunter2", BSC_XPUB: wallet.publicExtendedKey })).toEqual([
      "TRIPAY_PRIVATE_KEY, TRIPAY_MERCHANT_CODE: required together with TRIPAY_API_KEY; set the missing variables, or unset all",
      "BSC_RPC_URLS: required together with BSC_XPUB; set the missing variables, or unset all"
    ])
  })

  it("refuses a sandbox, http and the simulator's keys in production", () => {
    const invalid = {
      ...ALL,
      MIDTRANS_BASE_URL: "https://api.sandbox.midtrans.com",
      TRIPAY_BASE_URL: "http://127.0.0.1:4010/tripay",
      NOWPAYMENTS_API_KEY: "SIMULATOR-NOT-A-KEY-nowpayments-api",
      BSC_RPC_URLS: "http://127.0.0.1:4010/bsc"
    }
    expect(refusals(invalid, "production")).toEqual([
      "MIDTRANS_BASE_URL: sandbox payments are not allowed in production",
      "TRIPAY_BASE_URL: an https URL is required in production",
      "BSC_RPC_URLS: https URLs are required in production; without https, an attacker on the network path could forge payments",
      "NOWPAYMENTS_API_KEY: is a key of the simulator, which does not run in production"
    ])
    expect(refusals(invalid)).toEqual([])
  })

  it("accepts a sandbox URL of an unused provider in production", () => {
    expect(refusals({ MIDTRANS_BASE_URL: "https://api.sandbox.midtrans.com" }, "production")).toEqual([])
  })

  it("refuses a private key, a public wallet and an impossible quorum", () => {
    const publicWallet = HDKey.fromMasterSeed(
      Buffer.from(
        "5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4",
        "hex"
      )
    ).derive("m/44'/60'/0'/0")
    expect(refusals({ ...BSC, BSC_XPUB: wallet.privateExtendedKey })).toEqual([
      expect.stringMatching(/^BSC_XPUB: an extended private key was given/)
    ])
    expect(refusals({ ...BSC, BSC_XPUB: publicWallet.publicExtendedKey })).toEqual([
      expect.stringMatching(/^BSC_XPUB: .* wallet whose recovery words are public$/)
    ])
    expect(refusals({ ...BSC, BSC_RPC_QUORUM: "3" })).toEqual([expect.stringMatching(/^BSC_RPC_URLS: a quorum of 3/)])
  })

  it("reports variables with invalid values without the values", () => {
    const wrong = {
      PAYMENTS_SIM_PORT: "70000",
      PUBLIC_BASE_URL: "gateway.example.com/hunter2",
      MIDTRANS_SERVER_KEY: "hunter2 hunter2",
      MIDTRANS_QRIS_ACQUIRER: "hunter2",
      NOWPAYMENTS_CURRENCIES: "usdttrc20,hunter2",
      BSC_RPC_URLS: "https://one.example,,https://two.example/hunter2",
      BSC_LOG_RANGE: "-1",
      TOPUP_EXPIRY_QRIS_MIN: "1e2"
    }
    const lines = refusals(wrong)
    expect(lines.map((line) => /^(\w+): .+ is needed$/.exec(line)?.[1])).toEqual(Object.keys(wrong))
    expect(lines.join("\n")).not.toContain("hunter2")
  })
})
