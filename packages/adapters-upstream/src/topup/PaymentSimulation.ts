/**
 * The interface of the payment simulator. The simulators package implements this interface; programs load that package
 * in development only.
 */
import type { Environment } from "@tollgate/application/operations/EnvironmentSchema"
import type { PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** A deployment that uses simulated payments. */
export interface SimulatedDeployment {
  readonly simulatorUrl: string
  /**
   * Identifies the database. Servers with the same database share their deposit addresses; servers with different
   * databases that join the same simulator must not.
   */
  readonly deployment: string
  /** The gateway URL for webhooks, for example `http://127.0.0.1:8080`. If undefined, payments are only polled. */
  readonly gatewayUrl: string | undefined
}

/** The simulator of one payment provider. */
export interface SimulatedCounterpart {
  /** The name of the provider in the registry. */
  readonly name: string
  /** Environment variables that point the provider's adapter to the simulator, with keys that work nowhere else. */
  readonly environment: (deployment: SimulatedDeployment) => Environment
  /** Wraps the adapter to pass facts to the simulator that the provider's protocol cannot express. */
  readonly wrap?: (provider: PaymentProvider, simulatorUrl: string) => PaymentProvider
}

export interface PaymentSimulation {
  readonly counterparts: ReadonlyArray<SimulatedCounterpart>
  /** Runs the simulator on this port, or joins the simulator that another server runs there. */
  readonly startOrJoin: (options: {
    readonly port: number
    /** The base URL for webhooks of payments that specify none. */
    readonly webhookBase?: string
  }) => Effect.Effect<{ readonly baseUrl: string }, never, Scope.Scope>
}

export interface Simulated extends SimulatedDeployment {
  readonly simulation: PaymentSimulation
}

/** Returns the base URL of the simulator, which listens on loopback only. */
export const localSimulatorUrl = (port: number): string => `http://127.0.0.1:${port}`
