/**
 * The demo: a simulated provider, a catalog that routes to it, a customer with a key and a balance, and a reseller with
 * quota.
 */
import { applyCatalog } from "@tollgate/composition/CatalogAtStart"
import { SimulatorAddress } from "@tollgate/composition/Payments"
import type { ServerConfig } from "@tollgate/composition/ServerConfig"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { banner } from "./Banner.ts"
import { demoCatalog } from "./DemoCatalog.ts"
import { demoCustomer } from "./DemoCustomer.ts"
import { demoReseller } from "./DemoReseller.ts"

/** Runs until the scope ends. Returns how to print the banner once the server is up. CATALOG_FILE replaces the catalog. */
export const startDemo = (config: ServerConfig) =>
  Effect.gen(function* () {
    const { startOrJoin } = yield* Effect.promise(() => import("@tollgate/simulators/inference/SimulatedUpstream"))
    const { baseUrl: simulatorUrl } = yield* startOrJoin({ port: config.SIMULATOR_PORT })
    if (config.CATALOG_FILE === undefined) {
      yield* applyCatalog(demoCatalog(simulatorUrl), { actor: "demo", reason: "the catalog of the demo" })
    }
    const customer = yield* demoCustomer(config.DATA_DIR)
    const reseller = yield* demoReseller(customer.email)
    const simulatorAddress = yield* SimulatorAddress
    return (baseUrl: string) => Console.log(banner(baseUrl, { customer, reseller, simulatorAddress }))
  })
