/**
 * Everything a demo needs: a simulated supplier, a catalog that points to it, a customer with a key and money, and a
 * reseller with quota.
 */
import { startOrJoin } from "@tollgate/simulators/sharing/SharedSimulation"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { applyCatalog } from "../ApplyCatalog.ts"
import type { Config } from "../Config.ts"
import { SimulatorAddress } from "../Payments.ts"
import { banner } from "./Banner.ts"
import { demoCatalog } from "./DemoCatalog.ts"
import { demoCustomer } from "./DemoCustomer.ts"
import { demoReseller } from "./DemoReseller.ts"

/** Runs until the scope ends; returns what to tell once the server is up. A catalog of the operator's own is kept. */
export const startDemo = (config: Config) =>
  Effect.gen(function* () {
    const { baseUrl: simulatorUrl } = yield* startOrJoin({ port: config.SIMULATOR_PORT })
    if (config.CATALOG_FILE === undefined) {
      yield* applyCatalog(demoCatalog(simulatorUrl), { actor: "demo", reason: "the demo's catalog" })
    }
    const customer = yield* demoCustomer(config.DATA_DIR)
    const reseller = yield* demoReseller(customer.email)
    const simulatorAddress = yield* SimulatorAddress
    return (baseUrl: string) => Console.log(banner(baseUrl, { customer, reseller, simulatorAddress }))
  })
