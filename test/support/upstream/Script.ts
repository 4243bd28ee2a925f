/**
 * A script defines how a test upstream responds to one request. The upstream sends a head, and then runs steps on the
 * socket.
 *
 *     script({ steps: [event(chunk), wait(20), until(signal), cut] })
 *
 * Steps run in order. After the last step the upstream ends the body as the framing requires, unless a step has broken
 * the connection.
 */
import type { Socket } from "node:net"
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises"

/** How the end of the body is marked: by chunks, by a content length, or by the end of the connection. */
export type Framing = "chunked" | "length" | "until close"

/** The connection and the functions that a step can use. */
export interface Wire {
  readonly socket: Socket
  /** Writes body bytes in the framing of the script. Waits while the socket's buffer is full. */
  readonly send: (bytes: string | Uint8Array) => Promise<void>
  /** Writes bytes without framing. */
  readonly raw: (bytes: string | Uint8Array) => Promise<void>
  /** Resolves when the client has disconnected or the upstream closes. */
  readonly gone: Promise<void>
  /** Makes the upstream write nothing more for this request. */
  readonly broken: () => void
}

export type Step = (wire: Wire) => Promise<void> | void

export interface Script {
  /** The status code; "none" sends no head. */
  readonly status: number | "none"
  readonly headers: Readonly<Record<string, string>>
  readonly framing: Framing
  /** The announced content length when `framing` is "length". */
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

export const bytes =
  (data: string | Uint8Array): Step =>
  (wire) =>
    wire.send(data)

export const event = (data: unknown): Step => bytes(`data: ${JSON.stringify(data)}\n\n`)

/** Sends the last event of a chat stream. */
export const done: Step = bytes("data: [DONE]\n\n")

/** Sends bytes without framing, for example an invalid response. */
export const raw =
  (data: string | Uint8Array): Step =>
  (wire) =>
    wire.raw(data)

/** Sends body bytes in pieces of this size, with a separate write for each piece. */
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

/** An event that a test fires once. Steps can wait for it. */
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

/** Waits until the test fires the signal or the client disconnects. */
export const until =
  ({ fired }: Signal): Step =>
  (wire) =>
    Promise.race([fired, wire.gone])

/** Repeats a step until the client disconnects. */
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

/** Closes the connection with FIN before the end of the body. */
export const cut: Step = async (wire) => {
  wire.broken()
  await new Promise<void>((resolve) => wire.socket.end(resolve))
}

/** Resets the connection with RST. */
export const reset: Step = (wire) => {
  wire.broken()
  wire.socket.resetAndDestroy()
}

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

/** Sends a stream of JSON events and then `[DONE]`. */
export const stream = (events: ReadonlyArray<unknown>, everyMillis = 0): Script =>
  script({
    steps: [...events.flatMap((each) => (everyMillis > 0 ? [wait(everyMillis), event(each)] : [event(each)])), done]
  })

/** Reads the request and never responds. */
export const silence: Script = script({ status: "none", steps: [stall] })

/** Reads the request and closes the connection without a response. */
export const closeImmediately: Script = script({ status: "none", steps: [cut] })

/** Reads the request and resets the connection. */
export const resetImmediately: Script = script({ status: "none", steps: [reset] })
