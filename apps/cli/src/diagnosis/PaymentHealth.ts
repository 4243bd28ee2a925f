/**
 * What the doctor sees of payments: whether each provider answers and takes us for whom we are.
 */

import { simulatorAddress } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import {
  type PaymentProvider,
  PaymentProviders,
  type ProviderUnavailable
} from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import type { CommandFailed } from "../runtime/CommandFailed.ts"
import { config, providersOf } from "../runtime/Payments.ts"
import type { Settings } from "../runtime/Settings.ts"
import { type Finding, fail, ok, warn } from "./Finding.ts"

export const paymentFindings: Effect.Effect<ReadonlyArray<Finding>, CommandFailed, Settings> = Effect.gen(function* () {
  const { simulatorPort } = yield* config
  // Nothing is opened, so any name will do.
  const findings = yield* Effect.provide(askedProviders, providersOf(Effect.succeed("doctor")))
  if (simulatorPort === undefined) return findings
  const simulatorUrl = simulatorAddress(simulatorPort)
  return [
    findings.every(({ status }) => status === "ok")
      ? ok("payments", `simulated at ${simulatorUrl}`)
      : warn(
          "payments",
          `simulated, but the simulator at ${simulatorUrl} does not answer`,
          "It runs together with a server in development: npm start"
        )
  ]
})

const askedProviders = Effect.gen(function* () {
  const { all } = yield* PaymentProviders
  if (all.length === 0) {
    const advice = "Resellers cannot top up. Set the keys of a provider; docs/operations.md lists them."
    return [warn("payments", "no provider is configured", advice)]
  }
  return yield* Effect.forEach(all, asked, { concurrency: "unbounded" })
})

const asked = (provider: PaymentProvider): Effect.Effect<Finding> => {
  const check = `payments ${provider.method}`
  return Effect.match(provider.probe, {
    onSuccess: () => ok(check, `${provider.label} answers`),
    onFailure: ({ detail, kind }) =>
      isPassing(kind)
        ? warn(check, `${provider.label}: ${detail}`, "Top-ups by it are refused until it answers again.")
        : fail(check, `${provider.label}: ${detail}`, "Check its settings; top-ups by it are refused until then.")
  })
}

/** The provider is to blame rather than our settings, and it may be over by itself. */
const isPassing = (kind: ProviderUnavailable["kind"]): boolean =>
  kind === "network" || kind === "timeout" || kind === "rate_limited" || kind === "server_error"
