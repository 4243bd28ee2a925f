/**
 * Checks whether each payment provider responds and accepts the configured credentials.
 */
import { localSimulatorUrl } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import {
  type PaymentProvider,
  PaymentProviders,
  type ProviderUnavailable
} from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import type { CommandFailed } from "../exit/CommandFailed.ts"
import { config, providersOf } from "../runtime/Payments.ts"
import type { Settings } from "../runtime/Settings.ts"
import { type Finding, fail, ok, warn } from "./Finding.ts"

export const paymentFindings: Effect.Effect<ReadonlyArray<Finding>, CommandFailed, Settings> = Effect.gen(function* () {
  const { simulatorPort } = yield* config
  // A provider uses the deployment name only to open a simulated payment. The checks open none, so any name works.
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

const probeAll = Effect.gen(function* () {
  const { all } = yield* PaymentProviders
  if (all.length === 0) {
    const advice = "Resellers cannot top up. Set the credentials of a provider; docs/operations.md lists the variables."
    return [warn("payments", "no provider is configured", advice)]
  }
  return yield* Effect.forEach(all, probeOne, { concurrency: "unbounded" })
})

const probeOne = (provider: PaymentProvider): Effect.Effect<Finding> => {
  const check = `payments ${provider.method}`
  return Effect.match(provider.probe, {
    onSuccess: () => ok(check, `${provider.label} responds`),
    onFailure: ({ detail, kind }) =>
      isTransient(kind)
        ? warn(
            check,
            `${provider.label}: ${detail}`,
            "Top-ups by this method are refused until the provider responds again."
          )
        : fail(
            check,
            `${provider.label}: ${detail}`,
            "Check the settings of this provider. Top-ups by this method are refused until its response is correct."
          )
  })
}

/** Returns true if the provider can recover without a change of the settings. */
const isTransient = (kind: ProviderUnavailable["kind"]): boolean =>
  kind === "network" || kind === "timeout" || kind === "rate_limited" || kind === "server_error"
