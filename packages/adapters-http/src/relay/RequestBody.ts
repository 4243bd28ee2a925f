/**
 * Reads the whole body of a request: in linear time, never more than the limit, and never more of all bodies together
 * than the budget.
 *
 * A body that is refused is not read to its end; whoever answers must not use the connection again.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { InvalidRequest, Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import type { RelayCounters } from "./RelayMetrics.ts"

export interface BodyLimits {
  readonly bodyBytes: number
  /** Of all requests together. */
  readonly allBodiesBytes: number
}

/** The share of the budget one request holds, from its first byte until the request is over. */
export class BodyLease {
  readonly #counters: RelayCounters
  readonly #limitBytes: number
  #heldBytes = 0

  constructor(counters: RelayCounters, limits: BodyLimits) {
    this.#counters = counters
    this.#limitBytes = limits.allBodiesBytes
  }

  take(bytes: number): boolean {
    if (this.#counters.bodyBytes + bytes > this.#limitBytes) return false
    this.#counters.bodyBytes += bytes
    this.#heldBytes += bytes
    return true
  }

  release(): void {
    this.#counters.bodyBytes -= this.#heldBytes
    this.#heldBytes = 0
  }
}

/** JSON by any of its names. Plain text too: it is what browsers call a string that nobody named. */
const READABLE = /^\s*(application\/(json|[\w.+-]+\+json)|text\/(plain|json))\s*(;|$)/i

export const readBody = (
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  lease: BodyLease
): Effect.Effect<Buffer, RequestTooLarge | InvalidRequest | Overloaded> =>
  Effect.async((resume) => {
    const { "content-type": type, "content-encoding": encoding, "content-length": length, expect } = request.headers
    if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
      return resume(
        Effect.fail(new InvalidRequest({ message: "Send the body without content-encoding.", param: null }))
      )
    }
    if (type !== undefined && !READABLE.test(type)) {
      const message = "Send the body as JSON, with 'content-type: application/json'."
      return resume(Effect.fail(new InvalidRequest({ message, param: null })))
    }
    const tooLarge = () => Effect.fail(new RequestTooLarge({ limitBytes: limits.bodyBytes }))
    if (Number(length ?? 0) > limits.bodyBytes) return resume(tooLarge())
    if (expect !== undefined && request.httpVersion === "1.1") response.writeContinue()

    const chunks: Array<Buffer> = []
    let bytes = 0
    const stop = () => {
      request.off("data", onData)
      request.off("end", onEnd)
    }
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      const refusal =
        bytes > limits.bodyBytes
          ? tooLarge()
          : lease.take(chunk.length)
            ? undefined
            : Effect.fail(new Overloaded({ retryAfterSeconds: 1 }))
      if (refusal === undefined) {
        chunks.push(chunk)
        return
      }
      stop()
      request.pause()
      resume(refusal)
    }
    const onEnd = () => {
      stop()
      resume(Effect.succeed(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)))
    }
    request.on("data", onData)
    request.on("end", onEnd)
    return Effect.sync(stop)
  })
