/**
 * One server for all processes of a machine: whoever comes first runs it at the port agreed on, so that its address
 * stays good, and who comes later uses it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export interface SharedServer<A, R> {
  readonly port: number
  /** Dies where the port is taken; port 0 is a free one. */
  readonly start: (port: number) => Effect.Effect<A, never, R>
  /** Where the one that came first would be. */
  readonly address: string
  /** Whether what answers there is one of these. */
  readonly isOurs: (headers: Headers) => boolean
  /** What those get who come later. */
  readonly joined: A
}

const ANSWER_MILLIS = 1_000

/** Where something else listens at the port, the server takes a free one. */
export const startOrJoin = <A, R>(server: SharedServer<A, R>): Effect.Effect<A, never, R> =>
  server
    .start(server.port)
    .pipe(Effect.catchSomeDefect((defect) => (isTaken(defect) ? Option.some(join(server)) : Option.none())))

const join = <A, R>({ address, isOurs, joined, start }: SharedServer<A, R>): Effect.Effect<A, never, R> =>
  Effect.flatMap(answers(address, isOurs), (ours) => (ours ? Effect.succeed(joined) : start(0)))

const answers = (address: string, isOurs: (headers: Headers) => boolean): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fetch(address, { signal: AbortSignal.timeout(ANSWER_MILLIS) }).then(
      async (response) => {
        await response.body?.cancel()
        return isOurs(response.headers)
      },
      () => false
    )
  )

const isTaken = (defect: unknown): boolean =>
  typeof defect === "object" && defect !== null && "code" in defect && defect.code === "EADDRINUSE"
