/**
 * Feeds the body of a request to whoever reads it, piece by piece, and stops at the first thing that is wrong with it.
 *
 * What is left of a body that was refused is not read here: see `ImageResponse`.
 */
import type { IncomingMessage } from "node:http"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"

export interface BodyReader<A, E> {
  /** What is wrong, if anything is by now. */
  readonly take: (piece: Buffer) => E | undefined
  readonly end: () => Either.Either<A, E>
}

export const readBody = <A, E>(request: IncomingMessage, reader: BodyReader<A, E>): Effect.Effect<A, E> =>
  Effect.async((resume) => {
    const stop = () => {
      request.off("data", onData)
      request.off("end", onEnd)
      request.pause()
    }
    const onData = (piece: Buffer) => {
      const fault = reader.take(piece)
      if (fault === undefined) return
      stop()
      resume(Effect.fail(fault))
    }
    const onEnd = () => {
      stop()
      resume(Effect.suspend(() => reader.end()))
    }
    request.on("end", onEnd)
    request.on("data", onData)
    return Effect.sync(stop)
  })

/** Bodies are read as they are sent. */
export const isEncoded = ({ headers }: IncomingMessage): boolean => {
  const encoding = headers["content-encoding"]
  return encoding !== undefined && encoding.trim().toLowerCase() !== "identity"
}

export const announcedBytes = ({ headers }: IncomingMessage): number => Number(headers["content-length"] ?? 0)
