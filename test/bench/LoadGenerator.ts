/**
 * Clients over bare sockets, closed loop: each connection sends its next request when the answer is complete. Runs as
 * a process of its own, and is told by messages what to do.
 */
import { connect, type Socket } from "node:net"
import { AnswerReader } from "./AnswerReader.ts"
import { type Ask, requestOf } from "./BenchRequest.ts"
import { type Span, Waits } from "./Waits.ts"

/** Load for one target. Keys are given to connections in turn. */
export interface Load {
  readonly port: number
  readonly keys: ReadonlyArray<string>
  readonly ask: Ask
  readonly connections: number
  /** New requests are sent for so long; 0 sends one on each connection. */
  readonly millis: number
}

export type Order =
  | ({ readonly order: "run" } & Load)
  | ({ readonly order: "open" } & Load)
  | { readonly order: "leave" }
  | { readonly order: "parts"; readonly spans: ReadonlyArray<Span> }

export interface Outcome {
  readonly requests: number
  /** Anything but a complete 200. */
  readonly errors: number
  readonly firstError: string | undefined
  readonly elapsedMillis: number
  /** Completion tokens of all streams: one a chunk. */
  readonly promptTokens: number
  readonly completionTokens: number
  /** From sending to the first byte of the body of a stream, or to the end of a whole answer. */
  readonly p50Micros: number
  readonly p99Micros: number
}

class Run {
  readonly #load: Load
  readonly #waits: Waits
  readonly #requests: ReadonlyArray<Buffer>
  readonly #startedAt = performance.now()
  #open = 0
  #requestCount = 0
  #errors = 0
  #firstError: string | undefined
  #promptTokens = 0
  #completionTokens = 0
  #finish: (outcome: Outcome) => void = () => {}

  constructor(load: Load, waits: Waits) {
    this.#load = load
    this.#waits = waits
    this.#requests = load.keys.map((key) => Buffer.from(requestOf(load.port, key, load.ask)))
  }

  run(): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#finish = resolve
      for (let i = 0; i < this.#load.connections; i++)
        this.#connect(this.#requests[i % this.#requests.length] ?? Buffer.of())
    })
  }

  #connect(request: Buffer): void {
    const { ask, port, millis } = this.#load
    const socket = connect({ port, host: "127.0.0.1", noDelay: true })
    const reader = new AnswerReader()
    let sentAt = 0
    let waiting = false
    const send = () => {
      sentAt = performance.now()
      waiting = true
      socket.write(request)
    }
    const arrived = () => {
      waiting = false
      this.#waits.ended((performance.now() - sentAt) * 1_000)
    }
    this.#open += 1
    socket.once("connect", send)
    socket.on("data", (data) => {
      const answer = reader.read(data)
      if (ask.kind === "stream" && waiting && (reader.begun || answer !== undefined)) arrived()
      if (answer === undefined) return
      if (waiting) arrived()
      this.#requestCount += 1
      if (!answer.ok || (answer.completionTokens === 0 && ask.kind !== "rankings")) this.#fail(answer.text)
      this.#promptTokens += answer.promptTokens
      this.#completionTokens += answer.completionTokens
      if (performance.now() - this.#startedAt < millis) send()
      else socket.end()
    })
    let closed = false
    socket.on("error", (error) => this.#fail(error.message))
    socket.on("close", () => {
      if (closed) return
      closed = true
      if (waiting) this.#fail("closed without an answer")
      this.#open -= 1
      if (this.#open === 0) this.#finish(this.#outcome())
    })
  }

  #fail(text: string): void {
    this.#errors += 1
    this.#firstError ??= text
  }

  #outcome(): Outcome {
    return {
      requests: this.#requestCount,
      errors: this.#errors,
      firstError: this.#firstError,
      elapsedMillis: performance.now() - this.#startedAt,
      promptTokens: this.#promptTokens,
      completionTokens: this.#completionTokens,
      p50Micros: this.#waits.quantileMicros(0.5),
      p99Micros: this.#waits.quantileMicros(0.99)
    }
  }
}

let idle: Array<Socket> = []

/** Opens streams that say nothing after their beginning; how many began. */
const open = async (load: Load): Promise<number> => {
  const BATCH = 50
  for (let i = 0; i < load.connections; i += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, load.connections - i) }, (_, j) => {
      const key = load.keys[(i + j) % load.keys.length] ?? ""
      const socket = connect({ port: load.port, host: "127.0.0.1", noDelay: true })
      idle.push(socket)
      return new Promise<void>((resolve) => {
        const reader = new AnswerReader()
        socket.once("connect", () => socket.write(requestOf(load.port, key, load.ask)))
        socket.on("data", (data) => {
          reader.read(data)
          if (reader.begun) resolve()
        })
        socket.on("error", () => resolve())
        socket.on("close", () => resolve())
      })
    })
    await Promise.all(batch)
  }
  return idle.filter((socket) => !socket.destroyed).length
}

/** Of the last run. */
let waits = new Waits()

const obey = async (order: Order): Promise<unknown> => {
  switch (order.order) {
    case "run":
      waits = new Waits()
      return new Run(order, waits).run()
    case "parts":
      return order.spans.map((span) => waits.part(span))
    case "open":
      return open(order)
    case "leave": {
      for (const socket of idle) socket.destroy()
      idle = []
      return 0
    }
  }
}

process.on("message", (order: Order) => {
  void obey(order).then((answer) => process.send?.(answer))
})
process.on("disconnect", () => process.exit())
process.send?.({ ready: 0 })
