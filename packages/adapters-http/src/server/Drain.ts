/**
 * Shuts the server down without losing a request. Open requests may finish within the grace period and are then
 * interrupted. Their programs, including settlement, end before the layers below (database, upstreams) close.
 */
import type { Server } from "node:http"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { InFlightRequests } from "../http/InFlight.ts"
import { stopListening } from "./NodeServer.ts"

/** For interrupted requests to write their last bytes. */
const INTERRUPT_TIMEOUT = Duration.seconds(2)
/** For programs to settle after their connections are destroyed. */
const SETTLE_TIMEOUT = Duration.seconds(3)

export const drain = (
  server: Server,
  inFlight: InFlightRequests,
  cutAll: () => void,
  grace: Duration.Duration
): Effect.Effect<void> =>
  Effect.gen(function* () {
    inFlight.draining = true
    stopListening(server)
    // A finalizer is uninterruptible; without `interruptible` the timeout would not end the wait.
    const idleWithin = (time: Duration.Duration) =>
      inFlight.idle.pipe(
        Effect.interruptible,
        Effect.timeoutOption(time),
        Effect.map((idle) => idle._tag === "Some")
      )
    if (!(yield* idleWithin(grace))) {
      yield* Effect.logWarning("shutdown: the grace period is over; interrupting open requests", {
        requests: inFlight.count
      })
      cutAll()
      if (!(yield* idleWithin(INTERRUPT_TIMEOUT))) {
        server.closeAllConnections()
        if (!(yield* idleWithin(SETTLE_TIMEOUT))) {
          yield* Effect.logError("shutdown: some requests did not end", { requests: inFlight.count })
        }
      }
    }
    server.closeAllConnections()
  })
