/**
 * Implements an upstream on a plain socket. It sends exactly the bytes that the scripts of a test define.
 *
 *     const upstream = await ScriptedUpstream.start()
 *     upstream.next(stream(chatFrames({ content: ["a", "b"], usage: usage(3, 2) })))
 *     ... call the gateway ...
 *     const request = await upstream.received()
 *     await request.left          // resolves when the gateway closes the connection
 *     await upstream.close()
 *
 * The exact bytes of every request are recorded. A request that has no script receives status 500 and makes
 * {@link ScriptedUpstream.close} fail, so that a test detects unexpected requests.
 */
import { createServer as createTcpServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import * as Effect from "effect/Effect"
import { errorBody } from "./upstream/ChatWire.ts"
import { identifyingHeaders, withIdentity } from "./upstream/ProviderIdentity.ts"
import { type ParsedRequest, RequestReader } from "./upstream/RequestReader.ts"
import { json, type Script, type Wire } from "./upstream/Script.ts"

export interface ReceivedRequest extends ParsedRequest {
  readonly json: () => unknown
  /** The number of the connection. Two requests with the same number used one keep-alive connection. */
  readonly connection: number
  /** Resolves when the client closes the connection before the script has ended. */
  readonly left: Promise<void>
  readonly over: Promise<void>
  /** Returns the number of body bytes and raw bytes that the socket has accepted so far. */
  readonly sentBytes: () => number
}

export interface ScriptedUpstreamOptions {
  /** The key and certificate for TLS. Plain HTTP is served when they are absent. */
  readonly tls?: { readonly key: string; readonly cert: string }
  /** The path of the base URL; `/v1` by default. */
  readonly basePath?: string
}

export class ScriptedUpstream {
  readonly baseUrl: string
  readonly requests: Array<ReceivedRequest> = []
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #queue: Array<Script> = []
  #otherwise: Script | ((request: ReceivedRequest) => Script) | undefined
  #isIdentifiable = false
  readonly #unexpected: Array<string> = []
  #taken = 0
  #arrivals: Array<() => void> = []
  #connections = 0

  static start(options: ScriptedUpstreamOptions = {}): Promise<ScriptedUpstream> {
    const server = options.tls === undefined ? createTcpServer() : createTlsServer(options.tls)
    return new Promise((resolve, reject) => {
      server.once("error", reject)
      server.listen(0, "127.0.0.1", () => resolve(new ScriptedUpstream(server, options)))
    })
  }

  /** Starts an upstream that closes with the scope. Closing fails the test if a request had no script. */
  static readonly scoped = (options: ScriptedUpstreamOptions = {}) =>
    Effect.acquireRelease(
      Effect.promise(() => ScriptedUpstream.start(options)),
      (upstream) => Effect.promise(() => upstream.close())
    )

  private constructor(server: Server, options: ScriptedUpstreamOptions) {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const scheme = options.tls === undefined ? "http" : "https"
    this.baseUrl = `${scheme}://127.0.0.1:${port}${options.basePath ?? "/v1"}`
    this.#server = server
    server.on("tlsClientError", () => {})
    server.on(options.tls === undefined ? "connection" : "secureConnection", (socket: Socket) => this.#serve(socket))
  }

  /** Adds scripts for the next requests, in order of arrival. */
  next(...scripts: ReadonlyArray<Script>): this {
    this.#queue.push(...scripts)
    return this
  }

  /** Sets the script for every request for which `next` has added none. */
  always(script: Script | ((request: ReceivedRequest) => Script)): this {
    this.#otherwise = script
    return this
  }

  /** Adds data that identifies the provider to every later response. */
  revealProvider(): this {
    this.#isIdentifiable = true
    return this
  }

  /** Waits for the next complete request that no earlier call has returned. */
  async received(): Promise<ReceivedRequest> {
    for (;;) {
      const request = this.requests[this.#taken]
      if (request !== undefined) {
        this.#taken += 1
        return request
      }
      await new Promise<void>((resolve) => this.#arrivals.push(resolve))
    }
  }

  get openConnections(): number {
    return this.#sockets.size
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
    if (this.#unexpected.length > 0) throw new Error(`requests without a script: ${this.#unexpected.join(", ")}`)
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    this.#connections += 1
    const connection: Connection = {
      socket,
      number: this.#connections,
      gone: new Promise((resolve) => {
        socket.once("close", () => resolve())
      }),
      leave: () => {}
    }
    const reader = new RequestReader()
    let busy = false
    const serveNext = () => {
      const parsed = busy ? undefined : reader.take()
      if (parsed === undefined) return
      busy = true
      this.#respond(connection, parsed).then(
        () => {
          busy = false
          serveNext()
        },
        () => socket.destroy()
      )
    }
    socket.setNoDelay(true)
    socket.on("error", () => {})
    socket.on("data", (data: Buffer) => {
      reader.add(data)
      serveNext()
    })
    socket.on("end", () => {
      connection.leave()
      socket.destroy()
    })
    socket.on("close", () => {
      connection.leave()
      this.#sockets.delete(socket)
    })
  }

  async #respond(connection: Connection, parsed: ParsedRequest): Promise<void> {
    const { socket, gone } = connection
    let finish = () => {}
    let sentBytes = 0
    let broken = false
    const request: ReceivedRequest = {
      ...parsed,
      connection: connection.number,
      json: () => JSON.parse(parsed.body.toString("utf8")),
      left: new Promise((resolve) => {
        connection.leave = resolve
      }),
      over: new Promise((resolve) => {
        finish = resolve
      }),
      sentBytes: () => sentBytes
    }
    this.requests.push(request)
    const isIdentifiable = this.#isIdentifiable
    const script = isIdentifiable ? identifiable(this.#scriptFor(request)) : this.#scriptFor(request)
    for (const wake of this.#arrivals.splice(0)) wake()

    const write = async (bytes: string | Uint8Array) => {
      if (broken || socket.destroyed || socket.write(bytes)) return
      await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), gone])
    }
    const wire: Wire = {
      socket,
      gone,
      broken: () => {
        broken = true
      },
      raw: async (bytes) => {
        await write(bytes)
        sentBytes += Buffer.byteLength(bytes)
      },
      send: async (bytes) => {
        const body = Buffer.from(isIdentifiable && typeof bytes === "string" ? withIdentity(bytes) : bytes)
        if (body.length === 0) return
        await write(script.framing === "chunked" ? Buffer.concat([chunkHead(body), body, CRLF]) : body)
        sentBytes += body.length
      }
    }
    if (script.status !== "none") await write(headOf(script, script.status))
    for (const step of script.steps) await step(wire)
    if (script.framing === "chunked" && script.status !== "none") await write("0\r\n\r\n")
    if (script.framing === "until close" && !broken) socket.end()
    connection.leave = () => {}
    finish()
  }

  #scriptFor(request: ReceivedRequest): Script {
    const queued = this.#queue.shift()
    if (queued !== undefined) return queued
    if (typeof this.#otherwise === "function") return this.#otherwise(request)
    if (this.#otherwise !== undefined) return this.#otherwise
    this.#unexpected.push(`${request.method} ${request.path}`)
    return json(errorBody("this request has no script"), 500)
  }
}

/** Returns a base URL on a closed port. */
export const unusedAddress = async (): Promise<string> => {
  const upstream = await ScriptedUpstream.start()
  await upstream.close()
  return upstream.baseUrl
}

const CRLF = Buffer.from("\r\n")
const chunkHead = (body: Buffer) => Buffer.from(`${body.length.toString(16)}\r\n`)

const headOf = (script: Script, status: number): string => {
  const framing = {
    chunked: { "transfer-encoding": "chunked" },
    length: { "content-length": String(script.length ?? 0) },
    "until close": { connection: "close" }
  }[script.framing]
  const lines = Object.entries({ ...framing, ...script.headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Scripted\r\n${lines.join("")}\r\n`
}

/** The body gets longer too, so the end of the connection marks its end instead of a content length. */
const identifiable = (script: Script): Script => ({
  ...script,
  framing: script.framing === "length" ? "until close" : script.framing,
  headers: { ...identifyingHeaders, ...script.headers }
})

interface Connection {
  readonly socket: Socket
  readonly number: number
  readonly gone: Promise<void>
  leave: () => void
}
