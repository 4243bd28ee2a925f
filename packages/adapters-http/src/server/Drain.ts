/**
 * Shuts the server down in four steps:
 * 1. During the delay, the server still serves new requests. `/readyz` returns 503, so that load balancers notice the
 *    stop. Each response whose head is written in this time announces that the server closes the connection after the
 *    response. Therefore the client sends its next request on another connection.
 * 2. The server stops listening. It waits for running requests until the end of the grace period.
 * 3. The server interrupts the requests that are still running.
 * 4. The server waits for a limited time until the interrupted requests have ended and their settlements are in the
 *    queue of the ledger. Afterwards the ledger writes the queued settlements, and the database and the connections to
 *    providers are closed.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { InFlightRequests } from "../http/InFlight.ts"
import { type NodeServer, stopListening } from "./NodeServer.ts"

/** Time for interrupted requests to write their last bytes. */
const INTERRUPT_TIMEOUT = Duration.seconds(2)
/** Time in which interrupted requests queue their settlements after their connections are destroyed. */
const SETTLE_TIMEOUT = Duration.seconds(3)

export interface DrainTimes {
  /** The time that running requests have to finish, from the start of the shutdown. */
  readonly grace: Duration.Duration
  /** The part of the grace period in which new requests are served. */
  readonly delay: Duration.Duration
}

/** The handlers of requests. */
export interface RequestHandlers {
  /** Returns the number of requests whose handling is not finished. */
  readonly running: () => number
  /** Interrupts the handling of all requests. */
  readonly cutAll: () => void
}

export const drain = (
  { connections, server }: NodeServer,
  inFlight: InFlightRequests,
  handlers: RequestHandlers,
  { delay, grace }: DrainTimes
): Effect.Effect<void> =>
  Effect.gen(function* () {
    inFlight.draining = true
    connections.closeAfterResponses()
    const served = Duration.min(delay, grace)
    yield* Effect.sleep(served)
    inFlight.refusing = true
    yield* stopListening(server)
    // Nearly all connections that `closeUsed` closes carried no request during the delay, so it is unlikely that a
    // request is arriving on one of them.
    if (Duration.greaterThan(served, Duration.zero)) connections.closeUsed()
    // Finalizers are uninterruptible: without `Effect.interruptible`, the timeout could not end the wait.
    const idleWithin = (time: Duration.Duration) =>
      inFlight.idle.pipe(
        Effect.interruptible,
        Effect.timeoutOption(time),
        Effect.map((idle) => idle._tag === "Some")
      )
    if (!(yield* idleWithin(Duration.subtract(grace, served)))) {
      yield* Effect.logWarning("shutdown: the grace period is over; interrupting running requests", {
        requests: handlers.running()
      })
      handlers.cutAll()
      if (!(yield* idleWithin(INTERRUPT_TIMEOUT))) {
        server.closeAllConnections()
        if (!(yield* idleWithin(SETTLE_TIMEOUT))) {
          yield* Effect.logError("shutdown: some requests did not end", { requests: handlers.running() })
        }
      }
    }
    server.closeAllConnections()
  })
