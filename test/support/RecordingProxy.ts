/**
 * Forwards all bytes between clients and a gateway over TCP, and records every byte that a client receives.
 */
import { connect, createServer, type Server, type Socket } from "node:net"

export class RecordingProxy {
  readonly url: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #received: Array<Array<Buffer>> = []

  static start(url: string): Promise<RecordingProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true })
    return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(new RecordingProxy(server, url))))
  }

  private constructor(server: Server, url: string) {
    const address = server.address()
    this.url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    this.#server = server
    const { hostname, port } = new URL(url)
    server.on("connection", (client: Socket) => {
      const gateway = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true })
      const received: Array<Buffer> = []
      this.#received.push(received)
      gateway.on("data", (bytes) => received.push(bytes))
      for (const [from, to] of [
        [client, gateway],
        [gateway, client]
      ] as const) {
        this.#sockets.add(from)
        from.pipe(to)
        from.on("error", () => to.destroy())
        from.on("close", () => this.#sockets.delete(from))
      }
    })
  }

  /** All bytes that clients received, as one text per connection. */
  get transcripts(): ReadonlyArray<string> {
    return this.#received.map((chunks) => Buffer.concat(chunks).toString("utf8"))
  }

  /**
   * Returns, for each connection, the first occurrence of each of these words in any letter case, with the surrounding
   * text.
   */
  leaksOf(words: ReadonlyArray<string>): ReadonlyArray<string> {
    return this.transcripts.flatMap((transcript) => leaksIn(transcript, words))
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

const AROUND = 120

export const leaksIn = (text: string, words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const searched = text.toLowerCase()
  return words.flatMap((word) => {
    const at = searched.indexOf(word.toLowerCase())
    return at < 0 ? [] : [`${word}: ...${text.slice(Math.max(0, at - AROUND), at + AROUND)}...`]
  })
}
