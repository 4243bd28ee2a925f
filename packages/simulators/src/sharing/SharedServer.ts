/**
 * One server for all processes of a machine. The first process runs it on the agreed port, so that its address stays
 * valid; later processes use it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export interface SharedServer<A, R> {
  readonly port: number
  /** Dies where the port is taken; port 0 takes a free one. */
  readonly start: (port: number) => Effect.Effect<A, never, R>
  /** Address of a server on that port. */
  readonly address: string
  /** Whether these response headers come from such a server. */
  readonly isOurs: (headers: Headers) => boolean
  /** The result for processes that join. */
  readonly joined: A
}

const RESPONSE_TIMEOUT_MILLIS = 1_000

/** Where something else listens at the port, the server takes a free one. */
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
