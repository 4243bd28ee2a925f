/**
 * One simulated supplier for all servers of a machine: whoever comes first runs it at the port agreed on, so that its
 * address in a catalog stays good, and who comes later uses it.
 */
import type { TokenCounter } from "@tollgate/application/ports/TokenCounter"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { addressOf, isSimulated, type SimulatedUpstream, type SimulationOptions, start } from "./SimulatedUpstream.ts"

/** Where something else listens at the port, the simulation takes a free one. */
export const startOrJoin = (
  options: SimulationOptions & { readonly port: number }
): Effect.Effect<SimulatedUpstream, never, Scope.Scope | TokenCounter> =>
  start(options).pipe(
    Effect.catchSomeDefect((defect) => (isTaken(defect) ? Option.some(join(options)) : Option.none()))
  )

const join = (options: SimulationOptions & { readonly port: number }) =>
  Effect.flatMap(isOurs(options.port), (ours) =>
    ours ? Effect.succeed({ baseUrl: addressOf(options.port) }) : start({ ...options, port: 0 })
  )

const isOurs = (port: number): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fetch(addressOf(port), { signal: AbortSignal.timeout(1_000) }).then(
      ({ headers }) => isSimulated(headers),
      () => false
    )
  )

const isTaken = (defect: unknown): boolean =>
  typeof defect === "object" && defect !== null && "code" in defect && defect.code === "EADDRINUSE"
