/**
 * Shares one simulator between all gateway servers of a machine. The first gateway server starts the simulator on a
 * fixed port, so that the simulator's URL stays valid. Later gateway servers use the running simulator. When the
 * gateway server with the simulator ends, one of the others starts the simulator again.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

export interface SharedServer<A, R> {
  readonly port: number
  /** Starts the simulator. Dies if the port is in use; port 0 selects a free port. */
  readonly start: (port: number) => Effect.Effect<A, never, R>
  /** The URL of the simulator on the fixed port. */
  readonly address: string
  /** Returns whether response headers come from this kind of simulator. */
  readonly isOurs: (headers: Headers) => boolean
  /** The result if a running simulator is used. */
  readonly joined: A
}

/**
 * The timeout of the request that shows whether a simulator runs on the port. It is long enough for a simulator in a
 * busy process, because a second simulator would not know the payments of the first.
 */
const RESPONSE_TIMEOUT_MILLIS = 5_000

/** The time between two checks whether the simulator of another gateway server still runs. */
const WATCH_INTERVAL = "1 second"

/**
 * Starts the simulator or uses the running one. If another program uses the port, starts the simulator on a free port.
 */
export const startOrJoin = <A, R>(server: SharedServer<A, R>): Effect.Effect<A, never, R | Scope.Scope> =>
  server.start(server.port).pipe(ifTaken(join(server)))

const join = <A, R>(server: SharedServer<A, R>): Effect.Effect<A, never, R | Scope.Scope> =>
  Effect.flatMap(isRunning(server.address, server.isOurs), (ours) =>
    ours ? Effect.as(Effect.forkScoped(takeOver(server)), server.joined) : server.start(0)
  )

/** Waits until the simulator on the port has ended, and starts it again there, unless another gateway server does. */
const takeOver = <A, R>(server: SharedServer<A, R>): Effect.Effect<void, never, R> =>
  isRunning(server.address, server.isOurs).pipe(
    Effect.delay(WATCH_INTERVAL),
    Effect.repeat({ while: (running) => running }),
    Effect.zipRight(server.start(server.port)),
    Effect.asVoid,
    ifTaken(Effect.suspend(() => takeOver(server)))
  )

/** Handles the defect of a start on a port that is in use. */
const ifTaken = <A, R>(otherwise: Effect.Effect<A, never, R>) =>
  Effect.catchSomeDefect((defect) => (isTaken(defect) ? Option.some(otherwise) : Option.none()))

const isRunning = (address: string, isOurs: (headers: Headers) => boolean): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fetch(address, { signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MILLIS) }).then(
      async (response) => {
        await response.body?.cancel()
        return isOurs(response.headers)
      },
      () => false
    )
  )

const isTaken = (defect: unknown): boolean =>
  typeof defect === "object" && defect !== null && "code" in defect && defect.code === "EADDRINUSE"
