/**
 * Shares one simulator between all gateway servers of a machine. The first gateway server starts the simulator on a
 * fixed port, so that the simulator's URL stays valid. Later gateway servers use the running simulator.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

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

/**
 * Starts the simulator or uses the running one. If another program uses the port, starts the simulator on a free port.
 */
export const startOrJoin = <A, R>(server: SharedServer<A, R>): Effect.Effect<A, never, R> =>
  server
    .start(server.port)
    .pipe(Effect.catchSomeDefect((defect) => (isTaken(defect) ? Option.some(join(server)) : Option.none())))

const join = <A, R>({ address, isOurs, joined, start }: SharedServer<A, R>): Effect.Effect<A, never, R> =>
  Effect.flatMap(isRunning(address, isOurs), (ours) => (ours ? Effect.succeed(joined) : start(0)))

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
