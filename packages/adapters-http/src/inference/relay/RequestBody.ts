/**
 * Reads the whole body of a request: in linear time, never more than the limit, and never more of all bodies together
 * than the budget.
 *
 * A body that is refused is not read to its end; whoever answers must not use the connection again.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { BodyRefusal } from "@tollgate/application/inference/RelayConnection"
import type { Callback } from "@tollgate/application/ledger/InferenceLedger"
import { InvalidRequest, Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import * as Exit from "effect/Exit"
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

/** Answers at once with a body that came with its head; with none at all when the client leaves before its end. */
export const takeBody = (
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  lease: BodyLease,
  answer: Callback<Buffer, BodyRefusal>
): void => {
  const refusal = refusalOf(request.headers, limits)
  if (refusal !== undefined) answer(Exit.fail(refusal))
  else if (request.complete) answer(arrived(request, limits, lease))
  else arriving(request, response, limits, lease, answer)
}

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
const arrived = (request: IncomingMessage, limits: BodyLimits, lease: BodyLease): Exit.Exit<Buffer, BodyRefusal> => {
  const body: Buffer = request.read() ?? EMPTY
  if (body.length > limits.bodyBytes) return Exit.fail(tooLarge(limits))
  return lease.take(body.length) ? Exit.succeed(body) : Exit.fail(noRoom())
}

const arriving = (
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  lease: BodyLease,
  answer: Callback<Buffer, BodyRefusal>
): void => {
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
    answer(Exit.fail(refusal))
  }
  const onEnd = () => {
    stop()
    answer(Exit.succeed(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)))
  }
  request.on("data", onData)
  request.on("end", onEnd)
}
