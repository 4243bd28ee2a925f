/**
 * Handles request bodies that no handler has read yet, or that no handler reads. The rest of a refused body is read and
 * discarded, because some clients read the response only after they have sent the whole body.
 *
 * A client that sends `Expect: 100-continue` waits with its body until the server accepts the request. If
 * the server refuses the request, the client may still send the body, so the connection cannot be used again.
 */
import type { IncomingMessage, ServerResponse } from "node:http"

const expectations = new WeakMap<IncomingMessage, ServerResponse>()

/**
 * Records that the client waits for `100 Continue`. If {@link acceptBody} is not called, Node.js closes the connection
 * after the response.
 */
export const expectContinue = (request: IncomingMessage, response: ServerResponse): void => {
  expectations.set(request, response)
}

/** Tells a client that waits for `100 Continue` to send its body. Must be called before the body is read. */
export const acceptBody = (request: IncomingMessage): void => {
  expectations.get(request)?.writeContinue()
  expectations.delete(request)
}

/** The maximum time in milliseconds for the rest of a body that is discarded. */
const DISCARD_MILLIS = 5_000

/**
 * Limits the time for which Node.js discards the rest of a body after the response. Must be called when the response is
 * complete.
 */
export const limitDiscarding = (request: IncomingMessage): void => {
  if (request.complete) return
  // A request that was read in part emits neither event when its body is complete. Its connection can then serve the
  // next request.
  const cut = setTimeout(() => {
    if (!request.complete) request.socket.destroy()
  }, DISCARD_MILLIS).unref()
  request.once("end", () => clearTimeout(cut))
  request.once("close", () => clearTimeout(cut))
}

/**
 * The bytes that {@link DiscardedBodies} reads per {@link TICK_MILLIS} from up to {@link MAX_FAST_BODIES} bodies
 * together: about 8 MiB per second.
 */
const DISCARDED_BYTES_PER_TICK = 160 * 1024
const TICK_MILLIS = 20
/** The maximum number of bytes that a body delivers before it is paused again: one read of Node.js. */
const PIECE_BYTES = 64 * 1024
/**
 * With more bodies than this, only {@link PIECE_BYTES} are read per {@link TICK_MILLIS}. Even at the full rate, hardly
 * any of so many bodies would reach its end before `Refusal.ts` closes its connection. Each piece also allocates a
 * buffer, so reading makes the garbage collector run more often.
 */
const MAX_FAST_BODIES = 64

/** The maximum number of bodies that are discarded at the same time. Each occupies 64 KiB or more until it ends. */
const MAX_DISCARDED_BODIES = 512
/**
 * The number of refusals per {@link TICK_MILLIS} after which a further refusal waits: 100 per second. Each refused
 * connection has allocated a buffer of 64 KiB. Without this limit, a flood of refused uploads keeps the garbage
 * collector busy.
 */
const REFUSALS_PER_TICK = 2
/** The maximum number of refusals that wait. A further refusal is written immediately. */
const MAX_WAITING_REFUSALS = 512

/**
 * The bodies that are being discarded. They share one rate, so that refused uploads do not take the processor time of
 * other requests. When there are too many bodies, the connection of the oldest body is closed. The refusal was written
 * on this connection before.
 */
class DiscardedBodies {
  /** The bodies whose refusal is written, the oldest first. */
  readonly #all = new Set<IncomingMessage>()
  /** Those of `#all` that are paused. The body that has waited longest is read next. */
  readonly #paused = new Set<IncomingMessage>()
  /** The functions that write the waiting refusals, the oldest first. */
  readonly #waiting = new Map<IncomingMessage, () => void>()
  #bytesLeft = DISCARDED_BYTES_PER_TICK
  #refusalsLeft = REFUSALS_PER_TICK
  #timer: NodeJS.Timeout | undefined

  refuse(request: IncomingMessage, write: () => void): void {
    if (request.closed) return
    request.once("close", () => this.#remove(request))
    this.#timer ??= setInterval(() => this.#tick(), TICK_MILLIS).unref()
    const mustWait = this.#refusalsLeft <= 0 && this.#waiting.size < MAX_WAITING_REFUSALS
    if (mustWait) this.#waiting.set(request, write)
    else this.#begin(request, write)
  }

  #begin(request: IncomingMessage, write: () => void): void {
    this.#refusalsLeft -= 1
    this.#waiting.delete(request)
    write()
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
    this.#readOn()
  }

  #cut(request: IncomingMessage): void {
    this.#remove(request)
    request.socket.destroy()
  }

  #remove(request: IncomingMessage): void {
    this.#waiting.delete(request)
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
    const bytesPerTick = this.#all.size > MAX_FAST_BODIES ? PIECE_BYTES : DISCARDED_BYTES_PER_TICK
    // The last piece of a tick can exceed the rate. The next tick reads fewer bytes by this excess.
    this.#bytesLeft = Math.min(bytesPerTick, this.#bytesLeft + bytesPerTick)
    this.#refusalsLeft = REFUSALS_PER_TICK
    for (const [request, write] of this.#waiting) {
      if (this.#refusalsLeft <= 0) break
      this.#begin(request, write)
    }
    this.#readOn()
    if (this.#all.size > 0 || this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const discardedBodies = new DiscardedBodies()

/**
 * Writes a refusal with `write` when it is the turn of this request, and then reads the rest of the body and discards
 * it. Writes nothing if the request is closed before its turn.
 */
export const refuseUnreadBody = (request: IncomingMessage, write: () => void): void =>
  discardedBodies.refuse(request, write)
