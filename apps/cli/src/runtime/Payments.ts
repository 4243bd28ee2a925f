/**
 * Builds the payment providers that the environment variables configure, in the same way as the server, and reads
 * PUBLIC_BASE_URL. Other modules import this module only when a command needs it, because it loads the adapters of the
 * payment providers, and they delay the start of a command.
 */
import { type PaymentConfig, readPaymentConfig } from "@tollgate/adapters-upstream/topup/PaymentConfig"
import { localSimulatorUrl } from "@tollgate/adapters-upstream/topup/PaymentSimulation"
import { PaymentVariables } from "@tollgate/adapters-upstream/topup/PaymentVariables"
import { Database } from "@tollgate/application/operations/Database"
import { readSettings } from "@tollgate/application/operations/EnvironmentSchema"
import { realPayments, simulatedPayments } from "@tollgate/composition/Payments"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { CommandFailed } from "../exit/CommandFailed.ts"
import { paymentSimulation } from "./Development.ts"
import { Settings, unusable } from "./Settings.ts"

export const config: Effect.Effect<PaymentConfig, CommandFailed, Settings> = Effect.flatMap(Settings, ({ NODE_ENV }) =>
  readSettings(PaymentVariables)(process.env).pipe(
    Either.flatMap((values) => readPaymentConfig(values, { production: NODE_ENV === "production" })),
    Either.mapLeft(unusable)
  )
)

export const publicBaseUrl: Effect.Effect<string | undefined, CommandFailed> = Effect.suspend(() =>
  readSettings(PaymentVariables.pick("PUBLIC_BASE_URL"))(process.env).pipe(
    Either.map(({ PUBLIC_BASE_URL }) => PUBLIC_BASE_URL),
    Either.mapLeft(unusable)
  )
)

/** Builds the payment providers. `deployment` identifies the database to the simulator. */
export const providersOf = <R>(deployment: Effect.Effect<string, never, R>) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const payments = yield* config
      if (payments.simulatorPort === undefined) return realPayments(payments)
      return simulatedPayments(payments, {
        simulation: yield* paymentSimulation,
        simulatorUrl: localSimulatorUrl(payments.simulatorPort),
        deployment: yield* deployment,
        gatewayUrl: undefined
      })
    })
  )

export const providers = providersOf(Effect.flatMap(Database, ({ identity }) => identity))
