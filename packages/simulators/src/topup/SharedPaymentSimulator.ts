/**
 * One payment simulator for all servers of a machine, at the port agreed on.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as SharedServer from "../sharing/SharedServer.ts"
import {
  addressOf,
  isSimulated,
  type PaymentSimulator,
  type PaymentSimulatorOptions,
  start
} from "./PaymentSimulator.ts"

/** Where something else listens at the port, the simulator takes a free one. */
export const startOrJoin = (
  options: PaymentSimulatorOptions & { readonly port: number }
): Effect.Effect<PaymentSimulator, never, Scope.Scope> =>
  SharedServer.startOrJoin({
    port: options.port,
    start: (port) => start({ ...options, port }),
    address: addressOf(options.port),
    isOurs: isSimulated,
    joined: { baseUrl: addressOf(options.port) }
  })
