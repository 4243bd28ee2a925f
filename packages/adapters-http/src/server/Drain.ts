/**
 * Closes the server without losing a request: those that are open may end by themselves for a while, then they are
 * cut off, and in any case their programs end, settlement included, before anything below is closed.
 */
import type { Server } from "node:http"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { InFlightRequests } from "../http/InFlight.ts"
import { stopListening } from "./NodeServer.ts"

/** For the last words of those that are cut off. */
const CUT = Duration.seconds(2)
/** For programs whose connection is closed by force. */
const SETTLE = Duration.seconds(3)

export const drain = (
  server: Server,
  inFlight: InFlightRequests,
  cutAll: () => void,
  grace: Duration.Duration
): Effect.Effect<void> =>
  Effect.gen(function* () {
    inFlight.draining = true
    stopListening(server)
    // A finalizer cannot be interrupted, and so could not be timed out.
    const idleWithin = (time: Duration.Duration) =>
      inFlight.idle.pipe(
        Effect.interruptible,
        Effect.timeoutOption(time),
        Effect.map((idle) => idle._tag === "Some")
      )
    if (!(yield* idleWithin(grace))) {
      yield* Effect.logWarning("stopping: open requests are cut off", { requests: inFlight.count })
      cutAll()
      if (!(yield* idleWithin(CUT))) {
        server.closeAllConnections()
        if (!(yield* idleWithin(SETTLE))) {
          yield* Effect.logError("stopping: some requests did not end", { requests: inFlight.count })
        }
      }
    }
    server.closeAllConnections()
  })
