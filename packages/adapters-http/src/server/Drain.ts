/**
 * Shuts the server down: waits until open requests have ended, and interrupts requests that are still open after the
 * grace period. Then it waits, for a limited time, until the interrupted requests have ended and are settled, because
 * the database and the connections to providers are closed afterwards.
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
    // Finalizers are uninterruptible: without `Effect.interruptible`, the timeout could not end the wait.
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
