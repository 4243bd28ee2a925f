/**
 * Reads the bodies of requests to the reseller routes and the operator API, and of webhooks of payment providers. Each
 * of these bodies has at most 64 KiB, unless a route accepts more. Together, those that a node is reading have at most
 * 32 MiB. The bodies of one client have at most half of the memory that the bodies of other clients leave free.
 * Therefore slow uploads of one client do not prevent the uploads of other clients.
 */
import type { IncomingMessage } from "node:http"
import { type Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { MemoryReservation, ReservedMemory } from "./MemoryReservation.ts"
import { announcedBytes, readWholeBody } from "./RequestBody.ts"
import { clientAddressOf, TrustedProxies } from "./TrustedProxies.ts"

export const MAX_BODY_BYTES = 64 * 1024
const MAX_ALL_BODIES_BYTES = 32 * 1024 * 1024
/** The time for which a client may continue to upload a refused body, so that the client can read the response. */
const LINGER_MILLIS = 5_000

export class SmallBodies extends Context.Tag("@tollgate/adapters-http/SmallBodies")<
  SmallBodies,
  {
    /** Reads a whole body. For a limited time, discards the remaining bytes of a refused body as they arrive. */
    readonly read: (request: IncomingMessage, maxBytes?: number) => Effect.Effect<Buffer, RequestTooLarge | Overloaded>
  }
>() {}

export const make = (
  clientOf: (request: IncomingMessage) => ClientAddress,
  maxAllBytes: number = MAX_ALL_BODIES_BYTES
): Context.Tag.Service<SmallBodies> => {
  const reserved = new ReservedMemory()
  return {
    read: (request, maxBytes = MAX_BODY_BYTES) =>
      Effect.async((resume) => {
        if (announcedBytes(request.headers) > maxBytes) {
          discard(request)
          resume(Effect.fail(new RequestTooLarge({ limitBytes: maxBytes })))
          return
        }
        const reservation = new MemoryReservation(reserved, maxAllBytes)
        reservation.assignTo(clientOf(request))
        const stop = readWholeBody(request, maxBytes, reservation, (body) => {
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

export const layer: Layer.Layer<SmallBodies, never, TrustedProxies> = Layer.effect(
  SmallBodies,
  Effect.map(TrustedProxies, (proxies) => make((request) => clientAddressOf(request, proxies)))
)

const discard = (request: IncomingMessage): void => {
  request.resume()
  const cut = setTimeout(() => request.socket.destroy(), LINGER_MILLIS).unref()
  request.once("end", () => clearTimeout(cut))
  request.once("close", () => clearTimeout(cut))
}
