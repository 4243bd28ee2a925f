/**
 * The providers of payments that servers with these settings have. Loaded only for commands that speak to them: their
 * wires are half of all there is to load.
 */
import { type PaymentConfig, readPaymentConfig } from "@tollgate/adapters-upstream/topup/PaymentConfig"
import * as PaymentDeployment from "@tollgate/adapters-upstream/topup/PaymentDeployment"
import { simulatorAddress } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import { PaymentVariables } from "@tollgate/adapters-upstream/topup/PaymentVariables"
import { Database } from "@tollgate/application/operations/Database"
import { readSettings } from "@tollgate/application/operations/EnvironmentSchema"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { CommandFailed } from "./CommandFailed.ts"
import { Settings, unusable } from "./Settings.ts"

export const config: Effect.Effect<PaymentConfig, CommandFailed, Settings> = Effect.flatMap(
  Settings,
  ({ production }) =>
    readSettings(PaymentVariables)(process.env).pipe(
      Either.flatMap((values) => readPaymentConfig(values, { production })),
      Either.mapLeft(unusable)
    )
)

const loadSimulation = Effect.map(
  Effect.promise(() => import("@tollgate/simulators/topup/PaymentSimulator")),
  ({ paymentSimulation }) => paymentSimulation
)

/** A simulator runs with a server and not for a command: one that is not there is a provider that does not answer. */
export const providersAs = <R>(deployment: Effect.Effect<string, never, R>) =>
  Layer.unwrapEffect(
    Effect.map(config, (config) => {
      const simulatorUrl = simulatorAddress(config.simulatorPort ?? 0)
      return PaymentDeployment.layer(
        config,
        Effect.all({
          simulation: loadSimulation,
          simulatorUrl: Effect.succeed(simulatorUrl),
          deployment,
          gatewayUrl: Effect.succeed(undefined)
        })
      )
    })
  )

export const providers = providersAs(Effect.flatMap(Database, ({ identity }) => identity))
