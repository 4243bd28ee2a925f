/**
 * Declares the interface of the payment simulator. The package `simulators` implements it. Programs load that package
 * only in development and in tests.
 */
import type { Environment } from "@tollgate/application/operations/EnvironmentSchema"
import type { PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** A deployment of the gateway that uses simulated payments. */
export interface SimulatedDeployment {
  readonly simulatorUrl: string
  /**
   * Identifies the database. Servers with the same database derive deposit addresses from the same wallet. Servers with
   * different databases use different wallets, even if they share a simulator.
   */
  readonly deployment: string
  /**
   * The base URL of the gateway, for example `http://127.0.0.1:8080`. The simulator sends webhooks there. If undefined,
   * payments specify no webhook URL.
   */
  readonly gatewayUrl: string | undefined
}

/** The simulator of one payment provider, and how the provider's adapter connects to it. */
export interface SimulatedCounterpart {
  /** The name of the provider in the registry. */
  readonly name: string
  /** Returns environment variables that connect the provider's adapter to the simulator, with simulated credentials. */
  readonly environment: (deployment: SimulatedDeployment) => Environment
  /**
   * Wraps the adapter. The wrapped adapter also sends data to the simulator for which the provider's protocol has no
   * field, such as the order number of a deposit address.
   */
  readonly wrap?: (provider: PaymentProvider, simulatorUrl: string) => PaymentProvider
}

export interface PaymentSimulation {
  readonly counterparts: ReadonlyArray<SimulatedCounterpart>
  /**
   * Runs the simulator on this port, or joins the simulator that another server already runs there. If another program
   * uses the port, runs the simulator on a free port. `baseUrl` contains the port that is used.
   */
  readonly startOrJoin: (options: {
    readonly port: number
    /** The base URL for the webhooks of payments that specify no webhook URL. */
    readonly webhookBase?: string
  }) => Effect.Effect<{ readonly baseUrl: string }, never, Scope.Scope>
}

export interface Simulated extends SimulatedDeployment {
  readonly simulation: PaymentSimulation
}

/** Returns the base URL of the simulator, which listens on loopback only. */
export const localSimulatorUrl = (port: number): string => `http://127.0.0.1:${port}`
