/**
 * A load balancer for the trial of upgrades. It sends a request to another server only if the first server refused the
 * connection, because then no server has received a byte of the request. If a connection breaks later, the client gets
 * 502 or a broken stream. New requests go only to servers whose `/readyz` returns 200.
 */
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

const CHECK_MILLIS = 250
const READINESS_TIMEOUT_MILLIS = 2_000

interface Backend {
  readonly port: number
  readonly agent: Agent
  checks: NodeJS.Timeout | undefined
  checking: boolean
  ready: boolean
  /** True after `remove`: the server gets no new requests, even if it is ready. */
  removed: boolean
}

export class Balancer {
  readonly #server: Server
  readonly #backends: Array<Backend> = []
  #next = 0
  /** The number of requests that were sent to another server because the first server refused the connection. */
  retried = 0
  /** The number of requests that got no complete response from a server. The client gets 502, or a broken stream. */
  broken = 0

  static async start(): Promise<Balancer> {
    const balancer = new Balancer()
    await new Promise<void>((resolve) => balancer.#server.listen(0, "127.0.0.1", resolve))
    return balancer
  }

  private constructor() {
    this.#server = createServer((incoming, response) => this.#forward(incoming, response))
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** With `assumedReady`, the readiness of the server is not checked. */
  add(port: number, assumedReady = false): void {
    const agent = new Agent({ keepAlive: true })
    const backend: Backend = { port, agent, checks: undefined, checking: false, ready: assumedReady, removed: false }
    this.#backends.push(backend)
    if (assumedReady) return
    backend.checks = setInterval(() => check(backend), CHECK_MILLIS)
    void check(backend)
  }

  isReady(port: number): boolean {
    return this.#backends.some((backend) => backend.port === port && backend.ready)
  }

  /** Sends no new requests to this server, as if an operator had removed the server before its stop. */
  remove(port: number): void {
    for (const backend of this.#backends) if (backend.port === port) backend.removed = true
  }

  close(): void {
    for (const { agent, checks } of this.#backends) {
      clearInterval(checks)
      agent.destroy()
    }
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #pick(tried: ReadonlySet<Backend>): Backend | undefined {
    const usable = this.#backends.filter((backend) => backend.ready && !backend.removed && !tried.has(backend))
    return usable[this.#next++ % Math.max(1, usable.length)]
  }

  #forward(incoming: IncomingMessage, response: ServerResponse): void {
    const chunks: Array<Buffer> = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.once("end", () => this.#send(incoming, response, Buffer.concat(chunks), new Set()))
  }

  #send(incoming: IncomingMessage, response: ServerResponse, body: Buffer, tried: ReadonlySet<Backend>): void {
    const backend = this.#pick(tried)
    if (backend === undefined) {
      this.broken += 1
      response.writeHead(502).end("no server is ready")
      return
    }
    const { "transfer-encoding": _, connection: __, ...headers } = incoming.headers
    const outgoing = request(
      {
        host: "127.0.0.1",
        port: backend.port,
        agent: backend.agent,
        method: incoming.method ?? "GET",
        path: incoming.url ?? "/",
        headers: { ...headers, "content-length": body.length }
      },
      (received) => {
        const { connection: _, "keep-alive": __, ...own } = received.headers
        response.writeHead(received.statusCode ?? 502, own)
        received.on("data", (chunk: Buffer) => response.write(chunk))
        received.once("end", () => response.end())
        received.once("error", () => {
          this.broken += 1
          response.destroy()
        })
      }
    )
    outgoing.once("error", (error: NodeJS.ErrnoException) => {
      if (response.headersSent) return
      if (error.code === "ECONNREFUSED") {
        this.retried += 1
        this.#send(incoming, response, body, new Set([...tried, backend]))
        return
      }
      this.broken += 1
      response.writeHead(502).end(`the server broke the connection: ${error.code ?? error.message}`)
    })
    outgoing.end(body)
  }
}

const check = async (backend: Backend): Promise<void> => {
  // The result of a slow check must not replace the result of a later check.
  if (backend.checking) return
  backend.checking = true
  const readiness = fetch(`http://127.0.0.1:${backend.port}/readyz`, {
    signal: AbortSignal.timeout(READINESS_TIMEOUT_MILLIS),
    headers: { connection: "close" }
  })
  backend.ready = await readiness.then(
    ({ ok }) => ok,
    () => false
  )
  backend.checking = false
}
