/**
 * The script of an upstream for one request: a head, then steps on the bare socket.
 *
 *     script({ steps: [event(chunk), wait(20), until(signal), cut] })
 *
 * Steps run in order. When all are done the body is ended as its framing wants it, unless a step broke the exchange.
 */
import type { Socket } from "node:net"
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises"

/** The framing of the body. */
export type Framing = "chunked" | "length" | "until close"

/** The exchange, as steps use it. */
export interface Wire {
  readonly socket: Socket
  /** Writes body bytes with the framing of the script, with backpressure. */
  readonly send: (bytes: string | Uint8Array) => Promise<void>
  /** Writes bytes without framing. */
  readonly raw: (bytes: string | Uint8Array) => Promise<void>
  /** The client has disconnected, or the upstream is closing. */
  readonly gone: Promise<void>
  /** Ends the writing of this exchange. */
  readonly broken: () => void
}

export type Step = (wire: Wire) => Promise<void> | void

export interface Script {
  /** 200 by default. "none" sends no head. */
  readonly status: number | "none"
  readonly headers: Readonly<Record<string, string>>
  /** Chunked by default. With "length" the bytes of all {@link body} steps are sent in one piece with their length. */
  readonly framing: Framing
  /** The announced length, when `framing` is "length". */
  readonly length: number | undefined
  readonly steps: ReadonlyArray<Step>
}

export const script = (parts: Partial<Script> = {}): Script => ({
  status: 200,
  headers: { "content-type": "text/event-stream" },
  framing: "chunked",
  length: undefined,
  steps: [],
  ...parts
})

// Steps

/** Body bytes. */
export const bytes =
  (data: string | Uint8Array): Step =>
  (wire) =>
    wire.send(data)

/** One server-sent event whose data is this JSON. */
export const event = (data: unknown): Step => bytes(`data: ${JSON.stringify(data)}\n\n`)

/** The final mark of a chat stream. */
export const done: Step = bytes("data: [DONE]\n\n")

/** Bytes without framing, as garbage. */
export const raw =
  (data: string | Uint8Array): Step =>
  (wire) =>
    wire.raw(data)

/** The body in pieces of this many bytes, each in its own TCP segment. */
export const inPieces =
  (size: number, data: string | Uint8Array): Step =>
  async (wire) => {
    const whole = Buffer.from(data)
    for (let at = 0; at < whole.length; at += size) {
      await wire.send(whole.subarray(at, at + size))
      await nextTurn()
    }
  }

export const wait =
  (millis: number): Step =>
  (wire) =>
    Promise.race([sleep(millis), wire.gone])

/** A gate that a test opens. */
export interface Signal {
  readonly fired: Promise<void>
  readonly fire: () => void
}

export const signal = (): Signal => {
  let fire = () => {}
  const fired = new Promise<void>((resolve) => {
    fire = resolve
  })
  return { fired, fire }
}

/** Continues when the test fires the signal or the client disconnects. */
export const until =
  ({ fired }: Signal): Step =>
  (wire) =>
    Promise.race([fired, wire.gone])

/** Repeats steps until the client disconnects. */
export const again =
  (step: Step, everyMillis = 0): Step =>
  async (wire) => {
    let listening = true
    void wire.gone.then(() => {
      listening = false
    })
    while (listening) {
      await step(wire)
      await (everyMillis > 0 ? wait(everyMillis)(wire) : nextTurn())
    }
  }

/** Sends nothing more and keeps the connection open. */
export const stall: Step = (wire) => wire.gone

/** Closes the connection inside the body: FIN without a last chunk. */
export const cut: Step = async (wire) => {
  wire.broken()
  await new Promise<void>((resolve) => wire.socket.end(resolve))
}

/** Resets the connection: RST. */
export const reset: Step = (wire) => {
  wire.broken()
  wire.socket.resetAndDestroy()
}

// Whole scripts

/** A whole JSON response. */
export const json = (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Script =>
  text(JSON.stringify(body), "application/json", status, headers)

export const text = (
  body: string | Uint8Array,
  contentType: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {}
): Script =>
  script({
    status,
    headers: { "content-type": contentType, ...headers },
    framing: "length",
    length: Buffer.byteLength(body),
    steps: [bytes(body)]
  })

/** A stream of JSON events, ended by `[DONE]`. */
export const stream = (events: ReadonlyArray<unknown>, everyMillis = 0): Script =>
  script({
    steps: [...events.flatMap((each) => (everyMillis > 0 ? [wait(everyMillis), event(each)] : [event(each)])), done]
  })

/** Reads the request and never responds. */
export const silence: Script = script({ status: "none", steps: [stall] })

/** Reads the request and closes the connection without a response. */
export const closeAtOnce: Script = script({ status: "none", steps: [cut] })

/** Reads the request and resets the connection. */
export const resetAtOnce: Script = script({ status: "none", steps: [reset] })
