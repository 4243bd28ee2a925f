/**
 * Shares one server between all processes of a machine. The first process runs the server on a fixed port, so that its
 * URL stays valid; later processes use that server.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export interface SharedServer<A, R> {
  readonly port: number
  /** Starts the server. Dies if the port is in use; port 0 selects a free port. */
  readonly start: (port: number) => Effect.Effect<A, never, R>
  /** The URL of a server on the fixed port. */
  readonly address: string
  /** Returns whether response headers come from such a server. */
  readonly isOurs: (headers: Headers) => boolean
  /** The result for a process that joins. */
  readonly joined: A
}

const RESPONSE_TIMEOUT_MILLIS = 1_000

/** Starts the server or joins the running one. If another program uses the port, the server selects a free port. */
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
