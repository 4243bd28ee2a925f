/**
 * Implements an HTTP client on a plain socket. It sends exactly the bytes that a test gives it and records every byte
 * of the response. A test can disconnect it at any moment, with FIN or with RST.
 *
 *     const client = await RawClient.post(gateway.url, "/v1/chat/completions", { key: gateway.key, body: { ... } })
 *     await client.until(({ body }) => body.includes("hello"))
 *     client.reset()
 *
 * `response` is the first response on the connection.
 */
import { connect, type Socket } from "node:net"

export interface RawResponse {
  /** The status code; 0 until the response head is complete. */
  readonly status: number
  /** The headers by lower-case name. If a header is repeated, the last value is kept. */
  readonly headers: Readonly<Record<string, string>>
  /** The body without chunk framing. */
  readonly body: string
  readonly whole: boolean
}

export interface RawPost {
  readonly key?: string | undefined
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>
  /** The request body. A string is sent unchanged, any other value as JSON. */
  readonly body: unknown
}

export class RawClient {
  readonly #socket: Socket
  #received = Buffer.alloc(0)
  #wake = () => {}
  ended = false

  static async connect(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject))
    return new RawClient(socket)
  }

  static async post(url: string, path: string, { key, headers = [], body }: RawPost): Promise<RawClient> {
    const client = await RawClient.connect(url)
    const bytes = typeof body === "string" ? body : JSON.stringify(body)
    client.head("POST", path, [
      ...(key === undefined ? [] : [["authorization", `Bearer ${key}`] as const]),
      ["content-type", "application/json"],
      ["content-length", String(Buffer.byteLength(bytes))],
      ...headers
    ])
    client.say(bytes)
    return client
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    const end = () => {
      this.ended = true
      this.#wake()
    }
    socket.on("error", () => {})
    socket.on("end", end)
    socket.on("close", end)
    socket.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake()
    })
  }

  say(bytes: string | Uint8Array): void {
    this.#socket.write(bytes)
  }

  head(method: string, path: string, headers: ReadonlyArray<readonly [name: string, value: string]>): void {
    const lines = [["host", "gateway.test"] as const, ...headers].map(([name, value]) => `${name}: ${value}\r\n`)
    this.say(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`)
  }

  get received(): string {
    return this.#received.toString("utf8")
  }

  get response(): RawResponse {
    return readResponse(this.#received, this.ended)
  }

  /** Fails when the connection ends before the received part of the response satisfies the condition. */
  async until(enough: (response: RawResponse) => boolean): Promise<RawResponse> {
    for (;;) {
      const { response } = this
      if (enough(response)) return response
      if (this.ended)
        throw new Error(`the connection ended before the expected part of the response:\n${this.received}`)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  whole(): Promise<RawResponse> {
    return this.until(({ whole }) => whole)
  }

  async closed(): Promise<void> {
    while (!this.ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  pause(): void {
    this.#socket.pause()
  }

  /** Closes the connection with FIN. */
  leave(): void {
    this.#socket.end()
  }

  /** Resets the connection with RST. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }
}

const readResponse = (bytes: Buffer, ended: boolean): RawResponse => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return { status: 0, headers: {}, body: "", whole: false }
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n")
  const status = Number(statusLine.split(" ")[1])
  if (status === 100) return readResponse(bytes.subarray(end + 4), ended)
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":")
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    })
  )
  const rest = bytes.subarray(end + 4)
  if (headers["transfer-encoding"] === "chunked") return { status, headers, ...withoutChunks(rest) }
  const length = headers["content-length"]
  const whole = length === undefined ? ended || status === 204 : rest.length >= Number(length)
  return { status, headers, body: rest.toString("utf8"), whole }
}

const withoutChunks = (bytes: Buffer): { readonly body: string; readonly whole: boolean } => {
  const chunks: Array<Buffer> = []
  let whole = false
  for (let at = 0; !whole; ) {
    const lineEnd = bytes.indexOf("\r\n", at)
    if (lineEnd < 0) break
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16)
    const end = lineEnd + 2 + size
    if (bytes.length < end + 2) break
    chunks.push(bytes.subarray(lineEnd + 2, end))
    whole = size === 0
    at = end + 2
  }
  return { body: Buffer.concat(chunks).toString("utf8"), whole }
}
