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
): Effect.Effect<Buffer, BodyRefusal> =>
  Effect.suspend(() => {
    const refusal = refusalOf(request.headers, limits)
    if (refusal !== undefined) return Effect.fail(refusal)
    return request.complete ? arrived(request, limits, lease) : arriving(request, response, limits, lease)
  })

type BodyRefusal = RequestTooLarge | InvalidRequest | Overloaded

/** What the head alone gives away. */
const refusalOf = (headers: IncomingMessage["headers"], limits: BodyLimits): BodyRefusal | undefined => {
  const { "content-type": type, "content-encoding": encoding, "content-length": length } = headers
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    return new InvalidRequest({ message: "Send the body without content-encoding.", param: null })
  }
  if (type !== undefined && !READABLE.test(type)) {
    const message = "Send the body as JSON, with 'content-type: application/json'."
    return new InvalidRequest({ message, param: null })
  }
  return Number(length ?? 0) > limits.bodyBytes ? tooLarge(limits) : undefined
}

const tooLarge = (limits: BodyLimits) => new RequestTooLarge({ limitBytes: limits.bodyBytes })
const noRoom = () => new Overloaded({ retryAfterSeconds: 1 })
const EMPTY = Buffer.alloc(0)

/** A small body comes with its head: it is all there, and nobody has to wait for it. */
const arrived = (
  request: IncomingMessage,
  limits: BodyLimits,
  lease: BodyLease
): Effect.Effect<Buffer, BodyRefusal> => {
  const body: Buffer = request.read() ?? EMPTY
  if (body.length > limits.bodyBytes) return Effect.fail(tooLarge(limits))
  return lease.take(body.length) ? Effect.succeed(body) : Effect.fail(noRoom())
}

const arriving = (
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  lease: BodyLease
): Effect.Effect<Buffer, BodyRefusal> =>
  Effect.async<Buffer, BodyRefusal>((resume) => {
    if (request.headers.expect !== undefined && request.httpVersion === "1.1") response.writeContinue()
    const chunks: Array<Buffer> = []
    let bytes = 0
    const stop = () => {
      request.off("data", onData)
      request.off("end", onEnd)
    }
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      const refusal = bytes > limits.bodyBytes ? tooLarge(limits) : lease.take(chunk.length) ? undefined : noRoom()
      if (refusal === undefined) {
        chunks.push(chunk)
        return
      }
      stop()
      request.pause()
      resume(Effect.fail(refusal))
    }
    const onEnd = () => {
      stop()
      resume(Effect.succeed(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)))
    }
    request.on("data", onData)
    request.on("end", onEnd)
    return Effect.sync(stop)
  }).pipe(Effect.interruptible)
