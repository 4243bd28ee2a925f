/**
 * Handles request bodies that no handler has read yet, or that no handler reads. The rest of a refused body is read and
 * discarded, because some clients read the response only after they have sent the whole body.
 *
 * A client that sends `Expect: 100-continue` waits with its body until the server accepts the request. If
 * the server refuses the request, the client may still send the body, so the connection cannot be used again.
 */
import type { IncomingMessage, ServerResponse } from "node:http"

interface Expectation {
  readonly response: ServerResponse
  readonly keepAlive: boolean
}

const expectations = new WeakMap<IncomingMessage, Expectation>()

/**
 * Records that the client waits for `100 Continue`. If {@link acceptBody} is not called, the connection is closed after
 * the response.
 */
export const expectContinue = (request: IncomingMessage, response: ServerResponse): void => {
  expectations.set(request, { response, keepAlive: response.shouldKeepAlive })
  response.shouldKeepAlive = false
}

/** Tells a client that waits for `100 Continue` to send its body. Must be called before the body is read. */
export const acceptBody = (request: IncomingMessage): void => {
  const expectation = expectations.get(request)
  if (expectation === undefined) return
  expectations.delete(request)
  expectation.response.shouldKeepAlive = expectation.keepAlive
  expectation.response.writeContinue()
}

/** The maximum time in milliseconds for the rest of a body that is discarded. */
const DISCARD_MILLIS = 5_000

/**
 * Limits the time for which Node.js discards the rest of a body after the response. Must be called when the response is
 * complete.
 */
export const limitDiscarding = (request: IncomingMessage): void => {
  if (request.complete) return
  const cut = setTimeout(() => request.socket.destroy(), DISCARD_MILLIS).unref()
  request.once("end", () => clearTimeout(cut))
  request.once("close", () => clearTimeout(cut))
}

/** The bytes of all discarded bodies together that are read per {@link TICK_MILLIS}: 8 MiB per second. */
const DISCARDED_BYTES_PER_TICK = 160 * 1024
const TICK_MILLIS = 20
/** The maximum number of bytes that a body delivers before it is paused again: one read of Node.js. */
const PIECE_BYTES = 64 * 1024

/** The maximum number of bodies that are being discarded. Each occupies 64 KiB or more until it ends. */
const MAX_DISCARDED_BODIES = 256

/**
 * The bodies that are being discarded. They share one rate, so that refused uploads do not take the processor time of
 * other requests. When there are too many, the connection of the oldest body is closed. The response of this body was
 * written long before.
 */
class DiscardedBodies {
  /** All bodies, the oldest first. */
  readonly #all = new Set<IncomingMessage>()
  /** The paused bodies. The body that has waited longest is read next. */
  readonly #paused = new Set<IncomingMessage>()
  #bytesLeft = DISCARDED_BYTES_PER_TICK
  #timer: NodeJS.Timeout | undefined

  add(request: IncomingMessage): void {
    if (request.closed) return
    const [oldest] = this.#all
    if (oldest !== undefined && this.#all.size >= MAX_DISCARDED_BODIES) this.#cut(oldest)
    this.#all.add(request)
    this.#paused.add(request)
    // Without an explicit pause, the listener for data would start to read.
    request.pause()
    request.on("data", (chunk: Buffer) => {
      this.#bytesLeft += PIECE_BYTES - chunk.length
      request.pause()
      this.#paused.add(request)
      this.#readOn()
    })
    request.once("close", () => this.#remove(request))
    this.#timer ??= setInterval(() => this.#tick(), TICK_MILLIS).unref()
    this.#readOn()
  }

  #cut(request: IncomingMessage): void {
    this.#remove(request)
    request.socket.destroy()
  }

  #remove(request: IncomingMessage): void {
    this.#all.delete(request)
    this.#paused.delete(request)
  }

  /**
   * Reads the next piece of each paused body, as long as bytes are left. The full size of a piece is subtracted before
   * the piece arrives.
   */
  #readOn(): void {
    for (const request of this.#paused) {
      if (this.#bytesLeft <= 0) return
      this.#bytesLeft -= PIECE_BYTES
      this.#paused.delete(request)
      request.resume()
    }
  }

  #tick(): void {
    this.#bytesLeft = DISCARDED_BYTES_PER_TICK
    this.#readOn()
    if (this.#all.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const discardedBodies = new DiscardedBodies()

/** Reads the rest of a body and discards it, at the rate that all discarded bodies share. */
export const discardBody = (request: IncomingMessage): void => discardedBodies.add(request)
