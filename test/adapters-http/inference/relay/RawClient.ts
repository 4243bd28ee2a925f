/** `RawClient` is an HTTP client over a plain socket. It can send any bytes and disconnect at any time. */
import { connect, type Socket } from "node:net"
import { KEY } from "./TestGateway.ts"

export interface RawResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export class RawClient {
  readonly socket: Socket
  /** The received bytes as latin1 text, except responses that {@link RawClient.response} has returned. */
  text = ""
  closed = false
  #changed: Array<() => void> = []

  static connect(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1" }, () => resolve(new RawClient(socket)))
      socket.once("error", reject)
    })
  }

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on("error", () => {})
    socket.on("data", (data) => {
      this.text += data.toString("latin1")
      this.#wake()
    })
    socket.on("close", () => {
      this.closed = true
      this.#wake()
    })
  }

  send(bytes: string | Uint8Array): this {
    this.socket.write(bytes)
    return this
  }

  sendChat(body: object, headers: ReadonlyArray<string> = [`authorization: Bearer ${KEY}`]): this {
    return this.send(chatRequest(JSON.stringify(body), headers))
  }

  async until(condition: (client: RawClient) => boolean, what = "the expected state"): Promise<this> {
    const deadline = performance.now() + 8_000
    while (!condition(this)) {
      const millis = deadline - performance.now()
      if (millis <= 0) throw new Error(`timed out while waiting for ${what}; received: ${this.text.slice(-2_000)}`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, millis)
        this.#changed.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
    return this
  }

  untilText(text: string): Promise<this> {
    return this.until((client) => client.text.includes(text), JSON.stringify(text))
  }

  untilClosed(): Promise<this> {
    return this.until((client) => client.closed, "the end of the connection")
  }

  /** Waits for the next complete response and returns it. If the connection is closed earlier, returns all bytes. */
  async response(): Promise<RawResponse> {
    await this.until((client) => client.closed || client.#whole() !== undefined, "a response")
    const end = this.#whole() ?? this.text.length
    const response = parse(this.text.slice(0, end))
    this.text = this.text.slice(end)
    return response
  }

  disconnect(): void {
    this.socket.destroy()
  }

  /** Returns the position in `text` after the first response; undefined if the end of the response is not found. */
  #whole(): number | undefined {
    const headEnd = this.text.indexOf("\r\n\r\n")
    if (headEnd < 0) return undefined
    const { status, headers } = parse(this.text.slice(0, headEnd + 4))
    const bodyStart = headEnd + 4
    if (status === 204 || status === 100) return bodyStart
    const length = headers.get("content-length")
    if (length !== undefined)
      return this.text.length >= bodyStart + Number(length) ? bodyStart + Number(length) : undefined
    const last = this.text.indexOf("0\r\n\r\n", bodyStart)
    return headers.get("transfer-encoding") === "chunked" && last >= 0 ? last + 5 : undefined
  }

  #wake(): void {
    for (const wake of this.#changed.splice(0)) wake()
  }
}

export const parse = (text: string): RawResponse => {
  const headEnd = text.indexOf("\r\n\r\n")
  const [statusLine = "", ...lines] = text.slice(0, headEnd).split("\r\n")
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":")
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
    })
  )
  return { status: Number(statusLine.split(" ")[1]), headers, body: text.slice(headEnd + 4) }
}

export const chatRequest = (body: string, headers: ReadonlyArray<string>): string =>
  [
    "POST /v1/chat/completions HTTP/1.1",
    "host: gateway",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
    "",
    body
  ].join("\r\n")

/** Returns the body of a chat request for the model `m`. */
export const hello = (parts: object = {}) => ({ model: "m", messages: [{ role: "user", content: "hi" }], ...parts })
export const helloStream = hello({ stream: true })

/** Sends a chat request with `fetch`. */
export const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })

/** Returns the contents of the deltas that are not empty. */
export const contents = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/"content":"([^"]+)"/g)].map(([, content]) => content ?? "")
