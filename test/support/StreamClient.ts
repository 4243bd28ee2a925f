/**
 * Implements a client that requests one chat stream on its own connection. It records every frame that has data, with
 * its arrival time.
 *
 *     const client = StreamClient.open(gateway.url, gateway.key)
 *     await client.received(3)     // waits for three content deltas
 *     client.leave()
 */
import { type ClientRequest, type IncomingMessage, request } from "node:http"
import { type Play, played } from "./upstream/Play.ts"

export interface Frame {
  readonly data: string
  readonly atMillis: number
}

/** How the request ended, as seen by the client. */
export type Ending =
  /** The stream ended with `[DONE]`. */
  | "done"
  /** The response is complete, but its last frame is not `[DONE]`, for example because it is an error frame. */
  | "error"
  /** The connection broke before the end of the stream. */
  | "cut"
  /** The response has a status other than 200. */
  | "refused"
  /** The connection broke before any response. */
  | "unanswered"

export class StreamClient {
  readonly url: string
  readonly openedAtMillis = performance.now()
  endedAtMillis = Number.POSITIVE_INFINITY
  status = 0
  requestId = ""
  /** The body of a response whose status is not 200. */
  body = ""
  ending: Ending | undefined
  readonly frames: Array<Frame> = []
  /** The arrival time of each content delta, in milliseconds of `performance.now()`. */
  readonly deltas: Array<number> = []
  readonly over: Promise<Ending>
  readonly #request: ClientRequest
  #rest = ""
  #waiting: Array<() => void> = []

  /** Requests a stream. The `play` member of the request determines the response of the test upstream. */
  static open(url: string, key: string, play?: Play, more: object = {}): StreamClient {
    const messages = [{ role: "user", content: "Say hello." }]
    return new StreamClient(url, key, { model: "m", stream: true, messages, ...played(play), ...more })
  }

  private constructor(url: string, key: string, body: object) {
    this.url = url
    const bytes = Buffer.from(JSON.stringify(body))
    this.#request = request(`${url}/v1/chat/completions`, {
      method: "POST",
      agent: false,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": bytes.length }
    })
    this.over = new Promise((resolve) => {
      const end = (ending: Ending) => {
        this.ending ??= ending
        this.endedAtMillis = performance.now()
        this.#wake()
        resolve(this.ending)
      }
      this.#request.on("error", () => end(this.status === 0 ? "unanswered" : "cut"))
      this.#request.on("response", (response) => this.#read(response, end))
    })
    this.#request.end(bytes)
  }

  async received(deltas: number): Promise<void> {
    while (this.deltas.length < deltas && this.ending === undefined) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  leave(): void {
    this.#request.destroy()
  }

  #read(response: IncomingMessage, end: (ending: Ending) => void): void {
    this.status = response.statusCode ?? 0
    this.requestId = String(response.headers["x-request-id"])
    response.setEncoding("utf8")
    response.on("data", (text: string) => {
      if (this.status === 200) this.#take(text)
      else this.body += text
    })
    response.on("error", () => end("cut"))
    response.on("close", () => end("cut"))
    response.on("end", () => {
      if (this.status !== 200) end("refused")
      else if (!response.complete) end("cut")
      else end(this.frames.at(-1)?.data === "[DONE]" ? "done" : "error")
    })
  }

  #take(text: string): void {
    const atMillis = performance.now()
    const frames = (this.#rest + text).split("\n\n")
    this.#rest = frames.pop() ?? ""
    for (const frame of frames) {
      if (!frame.startsWith("data: ")) continue
      const data = frame.slice("data: ".length)
      this.frames.push({ data, atMillis })
      if (/"content":"[^"]/.test(data)) this.deltas.push(atMillis)
    }
    this.#wake()
  }

  #wake(): void {
    for (const resume of this.#waiting.splice(0)) resume()
  }
}
