import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { it } from "@effect/vitest"
import * as ConfiguredProviders from "@tollgate/adapters-upstream/topup/ConfiguredProviders"
import { readPaymentConfig } from "@tollgate/adapters-upstream/topup/PaymentConfig"
import { PAYMENT_PROVIDERS } from "@tollgate/adapters-upstream/topup/PaymentProviderRegistry"
import { paymentVariables } from "@tollgate/adapters-upstream/topup/PaymentVariables"
import { type Environment, readSettings } from "@tollgate/application/operations/EnvironmentSchema"
import { handleWebhook } from "@tollgate/application/topup/HandleWebhook"
import * as OrderPayments from "@tollgate/application/topup/OrderPayments"
import { createTopUp, refreshForReseller, TopUpPolicy } from "@tollgate/application/topup/TopUps"
import { orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { defaultBounds } from "@tollgate/domain/topup/TopUpRequest"
import { Effect, Either, Layer } from "effect"
import { describe, expect } from "vitest"
import * as Programme from "../../support/Programme.ts"
import { toy } from "./toy/ToyProvider.ts"
import * as ToyServer from "./toy/ToyServer.ts"

const KEY = "a-toy-key"
const REGISTRY = [...PAYMENT_PROVIDERS, toy]

const read = (environment: Environment, production = false) =>
  Either.flatMap(readSettings(paymentVariables(REGISTRY))(environment), (values) =>
    readPaymentConfig(values, { production }, REGISTRY)
  )

/** Builds the top-up use cases from the environment variables of the toy provider. */
const toyGateway = Effect.gen(function* () {
  const server = yield* ToyServer.start(KEY)
  const environment = { TOY_BASE_URL: server.url, TOY_API_KEY: KEY, PUBLIC_BASE_URL: "https://gateway.example.com" }
  const config = Either.getOrThrowWith(read(environment), (reasons) => new Error(reasons.join("\n")))
  const providers = ConfiguredProviders.layer({ current: config.providers.map(({ make }) => make) })
  const context = yield* Layer.build(
    Layer.provideMerge(
      OrderPayments.layer,
      Layer.merge(providers, Layer.succeed(TopUpPolicy, { bounds: defaultBounds }))
    )
  )
  return { server, context }
})

const request = { method: "qris" as const, amount_idr: 100_000 }

describe("the toy payment provider", () => {
  it.scopedLive("opens, refreshes and credits an order", () =>
    Effect.gen(function* () {
      const { context, server } = yield* toyGateway
      const reseller = yield* Programme.aReseller()
      const { order } = yield* Effect.provide(createTopUp(reseller, request), context)
      expect(order).toMatchObject({ status: "pending", provider: "toy", simulated: false })
      expect(order.instructions).toMatchObject({
        _tag: "Qris",
        qrContent: expect.stringMatching(/^TOY RTO-/)
      })
      expect(server.invoices).toMatchObject([
        { ref: orderNumberOf(order.id), callback: "https://gateway.example.com/webhooks/payments/toy" }
      ])
      server.settle(orderNumberOf(order.id))
      const refreshed = yield* Effect.provide(refreshForReseller(reseller.id, order.id), context)
      expect(refreshed.status).toBe("credited")
      expect(yield* Programme.balance(reseller.id)).toBe(order.quotaUsdMicro)
    }).pipe(Effect.provide(Programme.layer))
  )

  it.scopedLive("credits an order after its signed webhook", () =>
    Effect.gen(function* () {
      const { context, server } = yield* toyGateway
      const reseller = yield* Programme.aReseller()
      const { order } = yield* Effect.provide(createTopUp(reseller, request), context)
      const number = orderNumberOf(order.id)
      server.settle(number)
      const { body, headers } = server.webhookFor(number)
      const forged = yield* Effect.flip(Effect.provide(handleWebhook("toy", {}, body), context))
      expect(forged._tag).toBe("BadSignature")
      expect(yield* Programme.balance(reseller.id)).toBe(0n)
      expect(yield* Effect.provide(handleWebhook("toy", headers, body), context)).toEqual({ received: true })
      expect(yield* Programme.balance(reseller.id)).toBe(order.quotaUsdMicro)
    }).pipe(Effect.provide(Programme.layer))
  )

  it("adds its variables to the schema", () => {
    expect(Object.keys(paymentVariables(REGISTRY).fields)).toEqual(
      expect.arrayContaining(["PUBLIC_BASE_URL", "TOY_BASE_URL", "TOY_API_KEY", "TOPUP_EXPIRY_QRIS_MIN"])
    )
  })

  it("is subject to the production rules", () => {
    expect(read({ TOY_BASE_URL: "http://toy.example", TOY_API_KEY: "SIMULATOR" }, true)).toEqual(
      Either.left([
        "TOY_BASE_URL: an https URL is required in production",
        "TOY_API_KEY: is a key of the simulator, which does not run in production"
      ])
    )
  })

  it("is named in no code outside its folder and the registries", () => {
    const sources = ["packages", "apps"].flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: "utf8" })
        .map((path) => join(root, path))
        .filter((path) => /\/src\/.*\.ts$/.test(path) && !path.includes("node_modules"))
    )
    const naming = (names: RegExp) =>
      sources.filter((path) => names.test(readFileSync(path, "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "")))
    expect(naming(/\btoy\b|TOY_/i)).toEqual([])
    // The OpenAPI document contains the name of a provider as an example.
    const elsewhere = naming(/midtrans|tripay|nowpayments|BSC_/i).filter(
      (path) => !/\/topup\/(midtrans|tripay|nowpayments|bsc)\/|packages\/adapters-http\//.test(path)
    )
    expect(elsewhere).toEqual([
      "packages/adapters-upstream/src/topup/PaymentProviderRegistry.ts",
      "packages/simulators/src/topup/SimulatedProviders.ts"
    ])
  })
})
