/**
 * Starts the demo: a simulated provider, a catalog with routes to this provider, a customer with an API key and a
 * balance, and a reseller with quota. With real payment providers, the demo creates no reseller, because its password
 * is public.
 */
import { applyCatalog } from "@tollgate/composition/CatalogAtStart"
import { isLoopback } from "@tollgate/composition/DeploymentVariables"
import { SimulatorUrl } from "@tollgate/composition/Payments"
import type { ServerConfig } from "@tollgate/composition/ServerConfig"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { banner } from "./Banner.ts"
import { demoCatalog } from "./DemoCatalog.ts"
import { demoCustomer } from "./DemoCustomer.ts"
import { demoReseller, warnOfDemoReseller } from "./DemoReseller.ts"

/**
 * Runs the demo until the scope ends, and returns a function that prints the banner. If CATALOG_FILE is set, that
 * catalog replaces the demo catalog.
 */
export const startDemo = (config: ServerConfig) =>
  Effect.gen(function* () {
    const { startOrJoin } = yield* Effect.promise(() => import("@tollgate/simulators/inference/SimulatedUpstream"))
    const { baseUrl: simulatorUrl } = yield* startOrJoin({ port: config.SIMULATOR_PORT })
    if (config.CATALOG_FILE === undefined) {
      yield* applyCatalog(demoCatalog(simulatorUrl), { actor: "demo", reason: "the demo catalog" })
    }
    const customer = yield* demoCustomer(config.DATA_DIR)
    const isRealMoney = config.payments.providers.length > 0
    if (!isRealMoney && !isLoopback(config.HOST)) {
      const risk = "the password of the demo reseller is public, so every machine that can connect can use the demo"
      yield* Effect.logWarning(`${risk}; unset HOST or DEMO`, { host: config.HOST })
    }
    const reseller = isRealMoney ? yield* warnOfDemoReseller : yield* demoReseller(customer.email)
    const paymentSimulatorUrl = yield* SimulatorUrl
    const demo = { customer, reseller, catalogFile: config.CATALOG_FILE, paymentSimulatorUrl }
    return (baseUrl: string) => Console.log(banner(baseUrl, demo))
  })
