/**
 * The one reader of request bodies: in linear time, no body over its limit, and all bodies of a surface together within
 * their memory reservation.
 *
 * A refused body is not read to its end. The writer of the response decides whether the rest is discarded: see
 * `Refusal.ts` and `SmallBodies.ts`.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import { InvalidRequest, Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import type { MemoryReservation } from "./MemoryReservation.ts"

/** Takes a body chunk by chunk. */
export interface BodyConsumer<A, E> {
  /** The error, as soon as one is known; no further chunk follows. */
  readonly take: (chunk: Buffer) => E | undefined
  readonly end: () => Either.Either<A, E>
}

/**
 * Feeds a body to its consumer, and calls back once: at the end, or at the first error, with the body paused. Does not call
 * back when the client disconnects before. Call the result to stop reading.
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
  return stop
}

export type BodyRefusal = RequestTooLarge | Overloaded

/** Reads a whole body. A small body arrives together with its head; then the callback runs at once. */
export const readWholeBody = (
  request: IncomingMessage,
  limitBytes: number,
  reservation: MemoryReservation,
  callback: (result: Either.Either<Buffer, BodyRefusal>) => void
): (() => void) => {
  const body = new WholeBody(limitBytes, reservation)
  if (!request.complete) return consumeBody(request, body, callback)
  const chunk: Buffer | null = request.read()
  const error = chunk === null ? undefined : body.take(chunk)
  callback(error === undefined ? body.end() : Either.left(error))
  return nothingToStop
}

const nothingToStop = () => {}
const EMPTY = Buffer.alloc(0)

class WholeBody implements BodyConsumer<Buffer, BodyRefusal> {
  readonly #limitBytes: number
  readonly #reservation: MemoryReservation
  readonly #chunks: Array<Buffer> = []
  #bytes = 0

  constructor(limitBytes: number, reservation: MemoryReservation) {
    this.#limitBytes = limitBytes
    this.#reservation = reservation
  }

  take(chunk: Buffer): BodyRefusal | undefined {
    this.#bytes += chunk.length
    if (this.#bytes > this.#limitBytes) return new RequestTooLarge({ limitBytes: this.#limitBytes })
    if (!this.#reservation.take(chunk.length)) return new Overloaded({ retryAfterSeconds: 1 })
    this.#chunks.push(chunk)
    return undefined
  }

  end(): Either.Either<Buffer, BodyRefusal> {
    if (this.#chunks.length > 1) return Either.right(Buffer.concat(this.#chunks, this.#bytes))
    return Either.right(this.#chunks[0] ?? EMPTY)
  }
}

export type InferenceBodyRefusal = BodyRefusal | InvalidRequest

/** Reads the JSON body of a relayed request. A client that expects a `100 Continue` gets it here, after its key was checked. */
export const readInferenceBody = (
  request: IncomingMessage,
  response: ServerResponse,
  limitBytes: number,
  reservation: MemoryReservation,
  callback: (result: Either.Either<Buffer, InferenceBodyRefusal>) => void
): void => {
  const error = jsonHeadersError(request.headers, limitBytes)
  if (error !== undefined) {
    callback(Either.left(error))
    return
  }
  const expectsContinue = request.headers.expect !== undefined && request.httpVersion === "1.1"
  if (expectsContinue && !request.complete) response.writeContinue()
  readWholeBody(request, limitBytes, reservation, callback)
}

/** JSON by any of its names. Also plain text: browsers send it for a string without a declared type. */
const JSON_TYPE = /^\s*(application\/(json|[\w.+-]+\+json)|text\/(plain|json))\s*(;|$)/i

/** A missing content type is read as JSON. */
export const isDeclaredJson = ({ "content-type": type }: IncomingHttpHeaders): boolean =>
  type === undefined || JSON_TYPE.test(type)

/** Bodies are read as they are sent: an encoded one is refused. */
export const isEncoded = ({ "content-encoding": encoding }: IncomingHttpHeaders): boolean =>
  encoding !== undefined && encoding.trim().toLowerCase() !== "identity"

export const announcedBytes = ({ "content-length": length }: IncomingHttpHeaders): number => Number(length ?? 0)

/** The error that the headers of an inference request with a JSON body already show. */
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
