/**
 * What a scripted supplier does with one request: a head, then steps on the bare socket.
 *
 *     script({ steps: [event(chunk), wait(20), until(signal), cut] })
 *
 * Steps run in order. When all are done the body is ended as its framing wants it, unless a step broke the exchange.
 */
import type { Socket } from "node:net"
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises"

/** How the client can tell where the body ends. */
export type Framing = "chunked" | "length" | "until close"

/** The exchange as a step sees it. */
export interface Wire {
  readonly socket: Socket
  /** Body bytes, framed as the script says; waits while the client does not read. */
  readonly send: (bytes: string | Uint8Array) => Promise<void>
  /** Bytes as they are, past all framing. */
  readonly raw: (bytes: string | Uint8Array) => Promise<void>
  /** The client left, or the supplier is being closed. */
  readonly gone: Promise<void>
  /** From here on nothing more is written for this exchange. */
  readonly broken: () => void
}

export type Step = (wire: Wire) => Promise<void> | void

export interface Script {
  /** 200 unless said; "none" sends no head at all. */
  readonly status: number | "none"
  readonly headers: Readonly<Record<string, string>>
  /** Chunked unless said. With "length" the bytes of all {@link body} steps are measured and sent in one piece. */
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

/** The end mark of a chat stream. */
export const done: Step = bytes("data: [DONE]\n\n")

/** Bytes past all framing: garbage. */
export const raw =
  (data: string | Uint8Array): Step =>
  (wire) =>
    wire.raw(data)

/** The same body in pieces of so many bytes, each its own TCP segment. */
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

/** A gate that a test opens when it is ready. */
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

/** Goes on when the test fires the signal, or when the client has left. */
export const until =
  ({ fired }: Signal): Step =>
  (wire) =>
    Promise.race([fired, wire.gone])

/** Does this over and over, until the client has left. */
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

/** Says nothing more, and keeps the connection. */
export const stall: Step = (wire) => wire.gone

/** Closes the connection in the middle of the body: FIN, no last chunk. */
export const cut: Step = async (wire) => {
  wire.broken()
  await new Promise<void>((resolve) => wire.socket.end(resolve))
}

/** Breaks the connection: RST. */
export const reset: Step = (wire) => {
  wire.broken()
  wire.socket.resetAndDestroy()
}

// Whole scripts

/** A whole JSON answer. */
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

/** Takes the request and never answers. */
export const silence: Script = script({ status: "none", steps: [stall] })

/** Takes the request and closes the connection without a word. */
export const hangUp: Script = script({ status: "none", steps: [cut] })

/** Takes the request and resets the connection. */
export const hangUpHard: Script = script({ status: "none", steps: [reset] })
