/**
 * Reads request bodies. Bodies that reserve memory from the same `ReservedMemory` share a memory limit. The reading
 * time is linear in the size of the body.
 *
 * This file does not discard the remaining bytes of a refused body.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import { InvalidRequest, Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import { CollectedBody } from "./CollectedBody.ts"
import type { MemoryReservation } from "./MemoryReservation.ts"
import { acceptBody } from "./UnreadBody.ts"

/**
 * The maximum size in bytes of a body that {@link readInferenceBody} reads without a check of the customer's funds.
 * Ordinary bodies are smaller, so no database query delays their reading. The admission checks the balances for a body
 * of any size.
 */
export const MAX_UNFUNDED_BYTES = 64 * 1024

/** Receives a body chunk by chunk. */
export interface BodyConsumer<A, E> {
  /** Takes a chunk. Returns an error to refuse the body. After an error, no further chunk is passed. */
  readonly take: (chunk: Buffer) => E | undefined
  readonly end: () => Either.Either<A, E>
}

/**
 * Passes a body to a consumer. Calls `callback` at most once: at the end of the body or at the first error. After an
 * error, the body is paused. Returns a function that stops reading. Does not call `callback` if this function is called
 * or the client disconnects earlier.
 */
export const consumeBody = <A, E>(
  request: IncomingMessage,
  consumer: BodyConsumer<A, E>,
  callback: (result: Either.Either<A, E>) => void
): (() => void) => {
  const stop = () => {
    request.off("data", onData)
    request.off("end", onEnd)
  }
  const onData = (chunk: Buffer) => {
    const error = consumer.take(chunk)
    if (error === undefined) return
    stop()
    request.pause()
    callback(Either.left(error))
  }
  const onEnd = () => {
    stop()
    callback(consumer.end())
  }
  request.on("data", onData)
  request.on("end", onEnd)
  acceptBody(request)
  return stop
}

export type BodyRefusal = RequestTooLarge | Overloaded

/** Reads a whole body. If the whole body has already arrived, `callback` runs synchronously. */
export const readWholeBody = (
  request: IncomingMessage,
  limitBytes: number,
  reservation: MemoryReservation,
  callback: (result: Either.Either<Buffer, BodyRefusal>) => void
): (() => void) => {
  const body = new WholeBody(limitBytes, reservation, announcedBytes(request.headers))
  if (!hasWholeBody(request)) return consumeBody(request, body, callback)
  acceptBody(request)
  const chunk: Buffer | null = request.read()
  const error = chunk === null ? undefined : body.take(chunk)
  callback(error === undefined ? body.end() : Either.left(error))
  return nothingToStop
}

const nothingToStop = () => {}

/**
 * Returns whether the whole body can be read without waiting. Node.js 20 sets `complete` only after it has run the
 * callbacks of the next tick, although all bytes have arrived, so the bytes are counted too. A request with `Expect`
 * must be `complete`, because `Refusal.ts` completes the error response to an incomplete request with `Expect` only
 * after the end of the body.
 */
const hasWholeBody = ({ complete, headers, readableLength }: IncomingMessage): boolean =>
  complete || (headers.expect === undefined && readableLength > 0 && readableLength === announcedBytes(headers))

/**
 * Collects a whole body. The memory of a large body with an announced length is allocated once, so that its chunks and
 * their concatenation do not exist at the same time.
 */
class WholeBody implements BodyConsumer<Buffer, BodyRefusal> {
  readonly #limitBytes: number
  readonly #reservation: MemoryReservation
  readonly #announcedBytes: number
  readonly #body = new CollectedBody()
  #whole: Buffer | undefined
  #bytes = 0

  constructor(limitBytes: number, reservation: MemoryReservation, announcedBytes: number) {
    this.#limitBytes = limitBytes
    this.#reservation = reservation
    this.#announcedBytes = announcedBytes
  }

  take(chunk: Buffer): BodyRefusal | undefined {
    const at = this.#bytes
    this.#bytes += chunk.length
    if (this.#bytes > this.#limitBytes) return new RequestTooLarge({ limitBytes: this.#limitBytes })
    const isAllocated = this.#announcedBytes > MAX_UNFUNDED_BYTES
    const needed = !isAllocated ? chunk.length : this.#whole === undefined ? this.#announcedBytes : 0
    if (!this.#reservation.take(needed)) return new Overloaded({ retryAfterSeconds: 1 })
    if (isAllocated) {
      this.#whole ??= Buffer.allocUnsafeSlow(this.#announcedBytes)
      chunk.copy(this.#whole, at)
    } else this.#body.push(chunk)
    return undefined
  }

  end(): Either.Either<Buffer, BodyRefusal> {
    const whole = this.#whole ?? this.#body.whole()
    // The listeners of the request keep this object until the response ends.
    this.#body.clear()
    this.#whole = undefined
    return Either.right(whole)
  }
}

export type InferenceBodyRefusal = BodyRefusal | InvalidRequest

export interface InferenceBodyLimits {
  readonly limitBytes: number
  readonly reservation: MemoryReservation
  /**
   * Decides whether the rest of a body of more than {@link MAX_UNFUNDED_BYTES} is read. Called at most once for a body.
   * Passes false to `callback` if the customer has no funds, the funds cannot be read, or the request has ended.
   */
  readonly beforeLargeBody: (callback: (continues: boolean) => void) => void
}

/**
 * Reads the JSON body of a request that the relay serves. The caller has already checked the API key, so this function
 * sends `100 Continue` to a client that waits for it.
 */
export const readInferenceBody = (
  request: IncomingMessage,
  response: ServerResponse,
  { beforeLargeBody, limitBytes, reservation }: InferenceBodyLimits,
  callback: (result: Either.Either<Buffer, InferenceBodyRefusal>) => void
): void => {
  const error = jsonHeadersError(request.headers, limitBytes)
  if (error !== undefined) {
    callback(Either.left(error))
    return
  }
  const expectsContinue = request.headers.expect !== undefined && request.httpVersion === "1.1"
  const read = () => {
    if (expectsContinue && !request.complete) response.writeContinue()
    return readWholeBody(request, limitBytes, reservation, callback)
  }
  // A body without an announced length can already have arrived while the key was checked.
  const knownBytes = Math.max(announcedBytes(request.headers), request.readableLength)
  if (knownBytes > MAX_UNFUNDED_BYTES) beforeLargeBody((continues) => continues && read())
  else {
    const stop = read()
    if (request.headers["transfer-encoding"] !== undefined) pauseAtLargeBody(request, beforeLargeBody, stop)
  }
}

/**
 * Pauses a body without an announced length when more than {@link MAX_UNFUNDED_BYTES} have arrived. Resumes the body if
 * `beforeLargeBody` passes true.
 */
const pauseAtLargeBody = (
  request: IncomingMessage,
  beforeLargeBody: InferenceBodyLimits["beforeLargeBody"],
  stop: () => void
): void => {
  let bytes = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= MAX_UNFUNDED_BYTES) return
    request.off("data", onData)
    request.pause()
    beforeLargeBody((continues) => {
      if (continues) request.resume()
      else stop()
    })
  }
  request.on("data", onData)
}

/**
 * Matches JSON media types (`application/json`, `application/*+json`, `text/json`), and `text/plain`, which browsers
 * declare for a string body without an explicit type.
 */
const JSON_TYPE = /^\s*(application\/(json|[\w.+-]+\+json)|text\/(plain|json))\s*(;|$)/i

/** Returns true if the content type is missing or is accepted as JSON. */
export const isDeclaredJson = ({ "content-type": type }: IncomingHttpHeaders): boolean =>
  type === undefined || JSON_TYPE.test(type)

/**
 * Returns true if the body has a content encoding other than `identity`. Such a body is refused, because the server
 * does not decode it.
 */
export const isEncoded = ({ "content-encoding": encoding }: IncomingHttpHeaders): boolean =>
  encoding !== undefined && encoding.trim().toLowerCase() !== "identity"

export const announcedBytes = ({ "content-length": length }: IncomingHttpHeaders): number => Number(length ?? 0)

/** Checks the headers of an inference request with a JSON body. Returns undefined if the headers are acceptable. */
export const jsonHeadersError = (
  headers: IncomingHttpHeaders,
  limitBytes: number
): InvalidRequest | RequestTooLarge | undefined => {
  if (isEncoded(headers)) {
    return new InvalidRequest({ message: "Send the body without content-encoding.", param: null })
  }
  if (!isDeclaredJson(headers)) {
    const message = "Send the body as JSON, with 'content-type: application/json'."
    return new InvalidRequest({ message, param: null })
  }
  return announcedBytes(headers) > limitBytes ? new RequestTooLarge({ limitBytes }) : undefined
}
