/**
 * Reads the bodies of requests other than inference and images: each at most 64 KiB, and all together within one memory
 * reservation.
 */
import type { IncomingMessage } from "node:http"
import { type Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { MemoryReservation, ReservedMemory } from "./MemoryReservation.ts"
import { announcedBytes, readWholeBody } from "./RequestBody.ts"

export const MAX_BODY_BYTES = 64 * 1024
const MAX_ALL_BODIES_BYTES = 32 * 1024 * 1024
/** The time for which a client may continue to upload a refused body, so that it can read the response. */
const LINGER_MILLIS = 5_000

export class SmallBodies extends Context.Tag("@tollgate/adapters-http/SmallBodies")<
  SmallBodies,
  {
    /** Reads a whole body. Discards the rest of a refused body as it arrives, for a limited time. */
    readonly read: (request: IncomingMessage) => Effect.Effect<Buffer, RequestTooLarge | Overloaded>
  }
>() {}

export const make = (maxAllBytes: number = MAX_ALL_BODIES_BYTES): Context.Tag.Service<SmallBodies> => {
  const reserved = new ReservedMemory()
  return {
    read: (request) =>
      Effect.async((resume) => {
        if (announcedBytes(request.headers) > MAX_BODY_BYTES) {
          discard(request)
          resume(Effect.fail(new RequestTooLarge({ limitBytes: MAX_BODY_BYTES })))
          return
        }
        const reservation = new MemoryReservation(reserved, maxAllBytes)
        const stop = readWholeBody(request, MAX_BODY_BYTES, reservation, (body) => {
          reservation.release()
          if (Either.isLeft(body)) discard(request)
          resume(body)
        })
        return Effect.sync(() => {
          stop()
          reservation.release()
        })
      })
  }
}

export const layer: Layer.Layer<SmallBodies> = Layer.sync(SmallBodies, () => make())

const discard = (request: IncomingMessage): void => {
  request.resume()
  const cut = setTimeout(() => request.socket.destroy(), LINGER_MILLIS).unref()
  request.once("end", () => clearTimeout(cut))
  request.once("close", () => clearTimeout(cut))
}
