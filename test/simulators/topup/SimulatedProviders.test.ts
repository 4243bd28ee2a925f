import { it } from "@effect/vitest"
import { simulatedProviders } from "@tollgate/adapters-upstream/topup/ConfiguredProviders"
import { PAYMENT_PROVIDERS } from "@tollgate/adapters-upstream/topup/PaymentProviderRegistry"
import type { AmountDue, PaymentIntent, PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import { Idr } from "@tollgate/domain/money/Idr"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OrderId, orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { Email } from "@tollgate/domain/validation/Email"
import { bscSimulator } from "@tollgate/simulators/topup/bsc/BscSimulator"
import { paymentSimulation } from "@tollgate/simulators/topup/PaymentSimulator"
import { SIMULATED_PROVIDERS } from "@tollgate/simulators/topup/SimulatedProviders"
import { Effect, Logger, LogLevel } from "effect"
import { describe, expect } from "vitest"
import { type SimulatorClient, startedSimulator, startWebhookReceiver } from "../../support/SimulatedPayments.ts"

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

/** Connects the real adapter with this name to the simulator. */
const adapterOf = (name: string, simulatorUrl: string, gatewayUrl?: string) =>
  Effect.all(
    simulatedProviders(
      { qris: 15, hosted_qris: 60, crypto: 60, crypto_bep20: 60 },
      { simulation: paymentSimulation, simulatorUrl, deployment: "a", gatewayUrl }
    )
  ).pipe(
    Effect.map((providers) => providers.find((provider) => provider.name === name)),
    Effect.flatMap(Effect.fromNullable),
    Effect.orDie
  )

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

describe("the simulated providers", () => {
  it("have the same names as the real providers in the registry", () => {
    const names = (list: ReadonlyArray<{ readonly name: string }>) => list.map(({ name }) => name)
    expect(names(SIMULATED_PROVIDERS)).toEqual(names(PAYMENT_PROVIDERS))
  })

  it.scopedLive("let the Midtrans adapter open a payment and read that it is paid", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const gateway = yield* startWebhookReceiver()
      const provider = yield* adapterOf("midtrans", simulator.baseUrl, gateway.url)
      expect(provider).toMatchObject({ label: "midtrans-simulator", simulated: true })
      const { intent, observation, opened } = yield* settled(simulator, provider, rupiah)
      expect(opened.instructions).toMatchObject({
        _tag: "Qris",
        qrImageUrl: expect.stringContaining(simulator.baseUrl)
      })
      expect(observation._tag).toBe("Paid")
      expect(yield* webhookOf(provider, gateway.webhooks)).toEqual({ orderNumber: intent.orderNumber, paid: true })
    })
  )

  it.scopedLive("let the Tripay adapter open a payment and read that it is paid", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const gateway = yield* startWebhookReceiver()
      const provider = yield* adapterOf("tripay", simulator.baseUrl, gateway.url)
      const { intent, observation, opened } = yield* settled(simulator, provider, rupiah)
      expect(opened.instructions._tag).toBe("HostedQris")
      expect(observation._tag).toBe("Paid")
      expect(yield* webhookOf(provider, gateway.webhooks)).toEqual({ orderNumber: intent.orderNumber, paid: true })
    })
  )

  it.scopedLive("let the NOWPayments adapter open a payment and read that it is paid", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const gateway = yield* startWebhookReceiver()
      const provider = yield* adapterOf("nowpayments", simulator.baseUrl, gateway.url)
      const { intent, observation, opened } = yield* settled(simulator, provider, dollars)
      expect(opened.instructions).toMatchObject({ _tag: "Crypto", depositAddresses: { length: 4 } })
      expect(observation).toMatchObject({ _tag: "Paid", received: { receivedUsdMicro: 25_000_123n } })
      expect(yield* webhookOf(provider, gateway.webhooks)).toEqual({ orderNumber: intent.orderNumber, paid: true })
    })
  )

  it.scopedLive("let the BSC adapter open a payment and read that it is paid", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const provider = yield* adapterOf("bsc", simulator.baseUrl)
      const { observation } = yield* settled(simulator, provider, dollars)
      expect(observation).toMatchObject({ _tag: "Paid", received: { receivedRaw: 25_000_123n * 10n ** 12n } })
    })
  )

  it.scopedLive("have a different extended public key for each deployment", () =>
    Effect.gen(function* () {
      const xpubOf = (deployment: string) =>
        bscSimulator.environment({ simulatorUrl: "http://127.0.0.1:4010", deployment, gatewayUrl: undefined }).BSC_XPUB
      expect(xpubOf("a")).toMatch(/^xpub/)
      expect(xpubOf("a")).toBe(xpubOf("a"))
      expect(xpubOf("a")).not.toBe(xpubOf("b"))
    })
  )
})

/** Returns what the adapter reads from the last webhook. */
const webhookOf = (
  provider: PaymentProvider,
  webhooks: ReadonlyArray<{ readonly headers: object; readonly body: string }>
) =>
  Effect.gen(function* () {
    const last = webhooks.at(-1)
    expect(last).toBeDefined()
    const verify = provider.webhook?.verify ?? (() => Effect.dieMessage("no webhook"))
    return yield* verify({ ...last?.headers }, Buffer.from(last?.body ?? ""))
  })
