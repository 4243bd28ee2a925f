/**
 * Reads the small bodies of requests that are not relayed: none over its limit, and never more of all together than
 * there is room for.
 */
import type { IncomingMessage } from "node:http"
import { Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const MAX_BODY_BYTES = 64 * 1024
const MAX_ALL_BODIES_BYTES = 32 * 1024 * 1024
/** How long a client may go on uploading what was refused, so that it can read the answer first. */
const LINGER_MILLIS = 5_000

export class SmallBodies extends Context.Tag("@tollgate/adapters-http/SmallBodies")<
  SmallBodies,
  {
    /** The whole body. What is left of one that is refused is dropped as it comes, for a moment. */
    readonly read: (request: IncomingMessage) => Effect.Effect<Buffer, RequestTooLarge | Overloaded>
  }
>() {}

export const make = (maxAllBytes: number = MAX_ALL_BODIES_BYTES): Context.Tag.Service<SmallBodies> => {
  let allBytes = 0

  const arriving = (request: IncomingMessage): Effect.Effect<Buffer, RequestTooLarge | Overloaded> =>
    Effect.async((resume) => {
      const chunks: Array<Buffer> = []
      let bytes = 0
      const stop = () => {
        request.off("data", onData)
        request.off("end", onEnd)
        allBytes -= bytes
      }
      const onData = (chunk: Buffer) => {
        bytes += chunk.length
        allBytes += chunk.length
        if (bytes <= MAX_BODY_BYTES && allBytes <= maxAllBytes) {
          chunks.push(chunk)
          return
        }
        const refusal = bytes > MAX_BODY_BYTES ? tooLarge() : new Overloaded({ retryAfterSeconds: 1 })
        stop()
        drop(request)
        resume(Effect.fail(refusal))
      }
      const onEnd = () => {
        stop()
        resume(Effect.succeed(Buffer.concat(chunks)))
      }
      request.on("data", onData)
      request.on("end", onEnd)
      return Effect.sync(stop)
    })

  return {
    read: (request) =>
      Effect.suspend(() => {
        if (!(Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES)) return arriving(request)
        drop(request)
        return Effect.fail(tooLarge())
      })
  }
}

export const layer: Layer.Layer<SmallBodies> = Layer.sync(SmallBodies, () => make())

const tooLarge = () => new RequestTooLarge({ limitBytes: MAX_BODY_BYTES })

const drop = (request: IncomingMessage): void => {
  request.resume()
  const cut = setTimeout(() => request.socket.destroy(), LINGER_MILLIS).unref()
  request.once("end", () => clearTimeout(cut))
  request.once("close", () => clearTimeout(cut))
}
