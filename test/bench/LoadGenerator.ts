/**
 * Simulates clients that use plain TCP sockets. Each connection sends its next request when the response to its
 * previous request is complete. The load generator runs in a separate process and receives each {@link LoadCommand} as
 * a message.
 */
import { connect, type Socket } from "node:net"
import { type RequestKind, requestOf } from "./BenchRequest.ts"
import { Latencies, type Span } from "./Latencies.ts"
import { ResponseReader } from "./ResponseReader.ts"

/** The load for one target. The API keys are assigned to the connections in turn. */
export interface Load {
  readonly port: number
  readonly keys: ReadonlyArray<string>
  readonly kind: RequestKind
  readonly connections: number
  /** The time in milliseconds during which new requests are sent. With 0, each connection sends one request. */
  readonly millis: number
  /**
   * The time in milliseconds over which the connections are opened, at equal distances. Without it, all connections
   * are opened together. Then they also send each further request together, if the upstream takes a constant time.
   */
  readonly spreadMillis?: number
}

export type LoadCommand =
  | ({ readonly command: "run" } & Load)
  | ({ readonly command: "open" } & Load)
  | { readonly command: "close" }
  | { readonly command: "parts"; readonly spans: ReadonlyArray<Span> }

export interface LoadResult {
  readonly requests: number
  /**
   * The number of errors of connections, and of responses without status 200 or, except for rankings, without
   * completion tokens.
   */
  readonly errors: number
  readonly firstError: string | undefined
  readonly elapsedMillis: number
  readonly promptTokens: number
  /** For streams, the number of chunks: the mock upstream reports one token per chunk. */
  readonly completionTokens: number
  /** The median time from sending a request to the first body byte of a stream, or to the end of a whole response. */
  readonly p50Micros: number
  readonly p99Micros: number
}

class Run {
  readonly #load: Load
  readonly #latencies: Latencies
  readonly #requests: ReadonlyArray<Buffer>
  readonly #startedAt = performance.now()
  #open = 0
  #requestCount = 0
  #errors = 0
  #firstError: string | undefined
  #promptTokens = 0
  #completionTokens = 0
  #finish: (result: LoadResult) => void = () => {}

  constructor(load: Load, latencies: Latencies) {
    this.#load = load
    this.#latencies = latencies
    this.#requests = load.keys.map((key) => Buffer.from(requestOf(load.port, key, load.kind)))
  }

  run(): Promise<LoadResult> {
    return new Promise((resolve) => {
      this.#finish = resolve
      const { connections, spreadMillis = 0 } = this.#load
      // The run ends when no connection is open, so connections that are not opened yet are counted from the start.
      this.#open = connections
      for (let i = 0; i < connections; i++) {
        const connect = () => this.#connect(this.#requests[i % this.#requests.length] ?? Buffer.of())
        if (spreadMillis === 0) connect()
        else setTimeout(connect, (i * spreadMillis) / connections)
      }
    })
  }

  #connect(request: Buffer): void {
    const { kind, port, millis } = this.#load
    const socket = connect({ port, host: "127.0.0.1", noDelay: true })
    const reader = new ResponseReader()
    let sentAt = 0
    let waiting = false
    const send = () => {
      sentAt = performance.now()
      waiting = true
      socket.write(request)
    }
    const arrived = () => {
      waiting = false
      this.#latencies.record((performance.now() - sentAt) * 1_000)
    }
    socket.once("connect", send)
    socket.on("data", (data) => {
      const response = reader.read(data)
      if (kind.kind === "stream" && waiting && (reader.begun || response !== undefined)) arrived()
      if (response === undefined) return
      if (waiting) arrived()
      this.#requestCount += 1
      if (!response.ok || (response.completionTokens === 0 && kind.kind !== "rankings")) this.#fail(response.text)
      this.#promptTokens += response.promptTokens
      this.#completionTokens += response.completionTokens
      if (performance.now() - this.#startedAt < millis) send()
      else socket.end()
    })
    let closed = false
    socket.on("error", (error) => this.#fail(error.message))
    socket.on("close", () => {
      if (closed) return
      closed = true
      if (waiting) this.#fail("closed without a response")
      this.#open -= 1
      if (this.#open === 0) this.#finish(this.#result())
    })
  }

  #fail(text: string): void {
    this.#errors += 1
    this.#firstError ??= text
  }

  #result(): LoadResult {
    return {
      requests: this.#requestCount,
      errors: this.#errors,
      firstError: this.#firstError,
      elapsedMillis: performance.now() - this.#startedAt,
      promptTokens: this.#promptTokens,
      completionTokens: this.#completionTokens,
      p50Micros: this.#latencies.quantileMicros(0.5),
      p99Micros: this.#latencies.quantileMicros(0.99)
    }
  }
}

let idle: Array<Socket> = []

/** Opens streams that stay silent after their beginning. Returns the number of open connections. */
const open = async (load: Load): Promise<number> => {
  const BATCH = 50
  for (let i = 0; i < load.connections; i += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, load.connections - i) }, (_, j) => {
      const key = load.keys[(i + j) % load.keys.length] ?? ""
      const socket = connect({ port: load.port, host: "127.0.0.1", noDelay: true })
      idle.push(socket)
      return new Promise<void>((resolve) => {
        const reader = new ResponseReader()
        socket.once("connect", () => socket.write(requestOf(load.port, key, load.kind)))
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

/** The latencies of the last run. */
let latencies = new Latencies()

const carryOut = async (command: LoadCommand): Promise<unknown> => {
  switch (command.command) {
    case "run":
      latencies = new Latencies()
      return new Run(command, latencies).run()
    case "parts":
      return command.spans.map((span) => latencies.part(span))
    case "open":
      return open(command)
    case "close": {
      for (const socket of idle) socket.destroy()
      idle = []
      return 0
    }
  }
}

process.on("message", (command: LoadCommand) => {
  void carryOut(command).then((result) => process.send?.(result))
})
process.on("disconnect", () => process.exit())
process.send?.({ ready: 0 })
