import { it } from "@effect/vitest"
import * as Bsc from "@tollgate/adapters-upstream/topup/bsc/BscPayments"
import * as Midtrans from "@tollgate/adapters-upstream/topup/midtrans/Midtrans"
import * as NowPayments from "@tollgate/adapters-upstream/topup/nowpayments/NowPayments"
import * as Tripay from "@tollgate/adapters-upstream/topup/tripay/Tripay"
import type { AmountDue, PaymentIntent, PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import { Idr } from "@tollgate/domain/money/Idr"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OrderId, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Email } from "@tollgate/domain/validation/Email"
import { announced } from "@tollgate/simulators/topup/AnnouncedOrders"
import { simulatorSettings } from "@tollgate/simulators/topup/SimulatorSettings"
import { Effect, Logger, LogLevel, Redacted } from "effect"
import { describe, expect } from "vitest"
import { listeningMerchant, type SimulatorClient, startedSimulator } from "../../support/SimulatedPayments.ts"

const rupiah: AmountDue = { _tag: "Rupiah", totalIdr: Idr(105_000n) }
const dollars: AmountDue = { _tag: "Dollars", amountUsdMicro: UsdMicro(25_000_123n), tokenKind: "usdt" }

const anIntent = (provider: PaymentProvider, due: AmountDue, id: string): PaymentIntent => ({
  orderId: OrderId.make(id),
  orderNumber: orderNumberOf(OrderId.make(id)),
  method: provider.method,
  due,
  payer: { name: "A reseller", email: Email.make("reseller@example.com") },
  depositIndex: 7,
  createdAt: new Date()
})

const ID = "0190d1a4-5f3c-7c21-9d0e-6a1b2c3d4e5f"

const settled = (simulator: SimulatorClient, provider: PaymentProvider, due: AmountDue) =>
  Effect.gen(function* () {
    const intent = anIntent(provider, due, ID)
    yield* Logger.withMinimumLogLevel(provider.probe, LogLevel.Warning)
    const opened = yield* provider.open(intent)
    expect((yield* provider.refresh(intent, opened))._tag).toBe("Pending")
    const paid = yield* simulator.post(`/pay/${intent.orderNumber}`)
    expect([paid.status, paid.body.status]).toEqual([200, "paid"])
    return { opened, observation: yield* provider.refresh(intent, opened), intent }
  })

describe("the settings of the simulator", () => {
  it.scopedLive("let the adapter of Midtrans open a payment, see it paid and hear of it", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const gateway = yield* listeningMerchant()
      const { midtrans } = simulatorSettings(simulator.baseUrl, { deployment: "a", gatewayUrl: gateway.url })
      const provider = yield* Midtrans.make(midtrans)
      expect(provider).toMatchObject({ label: "midtrans-simulator", simulated: true })
      const { intent, observation, opened } = yield* settled(simulator, provider, rupiah)
      expect(opened.instructions).toMatchObject({
        _tag: "Qris",
        qrImageUrl: expect.stringContaining(simulator.baseUrl)
      })
      expect(observation._tag).toBe("Paid")
      expect(yield* webhookOf(provider, gateway.heard)).toEqual({ orderNumber: intent.orderNumber })
    })
  )

  it.scopedLive("let the adapter of Tripay open a payment, see it paid and hear of it", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const gateway = yield* listeningMerchant()
      const { tripay } = simulatorSettings(simulator.baseUrl, { deployment: "a", gatewayUrl: gateway.url })
      const provider = yield* Tripay.make(tripay)
      const { intent, observation, opened } = yield* settled(simulator, provider, rupiah)
      expect(opened.instructions._tag).toBe("HostedQris")
      expect(observation._tag).toBe("Paid")
      expect(yield* webhookOf(provider, gateway.heard)).toEqual({ orderNumber: intent.orderNumber })
    })
  )

  it.scopedLive("let the adapter of NOWPayments open a payment, see it paid and hear of it", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const gateway = yield* listeningMerchant()
      const { nowPayments } = simulatorSettings(simulator.baseUrl, { deployment: "a", gatewayUrl: gateway.url })
      const provider = yield* NowPayments.make(nowPayments)
      const { intent, observation, opened } = yield* settled(simulator, provider, dollars)
      expect(opened.instructions).toMatchObject({ _tag: "Crypto", depositAddresses: { length: 4 } })
      expect(observation).toMatchObject({ _tag: "Paid", received: { receivedUsdMicro: 25_000_123n } })
      expect(yield* webhookOf(provider, gateway.heard)).toEqual({ orderNumber: intent.orderNumber })
    })
  )

  it.scopedLive("let the adapter of BSC open a payment that is paid by its order number", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const { bsc } = simulatorSettings(simulator.baseUrl, { deployment: "a" })
      const provider = announced(yield* Bsc.make(bsc), simulator.baseUrl)
      const { observation } = yield* settled(simulator, provider, dollars)
      expect(observation).toMatchObject({ _tag: "Paid", received: { receivedRaw: 25_000_123n * 10n ** 12n } })
    })
  )

  it.scopedLive("give servers of one database the same deposit addresses, and others their own", () =>
    Effect.gen(function* () {
      const xpubOf = (deployment: string) =>
        Redacted.value(simulatorSettings("http://127.0.0.1:4010", { deployment }).bsc.xpub)
      expect(xpubOf("a")).toBe(xpubOf("a"))
      expect(xpubOf("a")).not.toBe(xpubOf("b"))
    })
  )
})

/** The order that the last webhook names, as the adapter reads it. */
const webhookOf = (
  provider: PaymentProvider,
  heard: ReadonlyArray<{ readonly headers: object; readonly body: string }>
) =>
  Effect.gen(function* () {
    const last = heard.at(-1)
    expect(last).toBeDefined()
    const verify = provider.webhook?.verify ?? (() => Effect.dieMessage("no webhook"))
    return yield* verify({ ...last?.headers }, Buffer.from(last?.body ?? ""))
  })
