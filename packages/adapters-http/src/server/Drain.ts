/**
 * Shuts the server down without losing a request. Requests that are still open after the grace period are interrupted.
 * The layers below (database, upstreams) close only after the fibers of all requests have ended, including settlement,
 * or after two further timeouts.
 */
import type { Server } from "node:http"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { InFlightRequests } from "../http/InFlight.ts"
import { stopListening } from "./NodeServer.ts"

/** Time for interrupted requests to write their last bytes. */
const INTERRUPT_TIMEOUT = Duration.seconds(2)
/** Time for interrupted requests to settle after their connections are destroyed. */
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
    // Finalizers are uninterruptible, so the timeout ends the wait only because of `interruptible`.
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
