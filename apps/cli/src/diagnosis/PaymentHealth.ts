/**
 * Checks whether each payment provider responds and accepts the configured credentials.
 */
import { localSimulatorUrl } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import { paymentFindings as probeAll } from "@tollgate/application/operator/Diagnosis"
import { type Finding, ok, warn } from "@tollgate/application/operator/Finding"
import * as Effect from "effect/Effect"
import type { CommandFailed } from "../exit/CommandFailed.ts"
import { config, providersOf } from "../runtime/Payments.ts"
import type { Settings } from "../runtime/Settings.ts"

export const paymentFindings: Effect.Effect<ReadonlyArray<Finding>, CommandFailed, Settings> = Effect.gen(function* () {
  const { simulatorPort } = yield* config
  // The name of the deployment determines only the deposit addresses of simulated payments. The checks open no payment,
  // so any name works.
  const findings = yield* Effect.provide(probeAll, providersOf(Effect.succeed("doctor")))
  if (simulatorPort === undefined) return findings
  const simulatorUrl = localSimulatorUrl(simulatorPort)
  return [
    findings.every(({ status }) => status === "ok")
      ? ok("payments", `simulated at ${simulatorUrl}`)
      : warn(
          "payments",
          `simulated, but the simulator at ${simulatorUrl} does not respond`,
          "The simulator runs inside a development server. Start the server: npm start"
        )
  ]
})
