/**
 * One simulated upstream for all servers of a machine, on a fixed port, so that its address in a catalog stays valid.
 */
import type { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import {
  addressOf,
  isSimulated,
  type SimulatedUpstream,
  type SimulationOptions,
  start
} from "../inference/SimulatedUpstream.ts"
import * as SharedServer from "./SharedServer.ts"

/** Where another program listens on the port, the simulation takes a free one. */
export const startOrJoin = (
  options: SimulationOptions & { readonly port: number }
): Effect.Effect<SimulatedUpstream, never, Scope.Scope | TokenCounter> =>
  SharedServer.startOrJoin({
    port: options.port,
    start: (port) => start({ ...options, port }),
    address: addressOf(options.port),
    isOurs: isSimulated,
    joined: { baseUrl: addressOf(options.port) }
  })
