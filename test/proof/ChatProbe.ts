/**
 * Sends chats at a constant rate, however long the responses take, and measures latency from the planned start of each
 * chat. A slow server therefore cannot reduce the number of slow chats.
 */
import { connect, type Socket } from "node:net"
import { requestOf } from "../bench/BenchRequest.ts"
import { ResponseReader } from "../bench/ResponseReader.ts"

const CHATS_PER_SECOND = 50
const LAST_RESPONSE_MILLIS = 20_000

export type Period = "quiet" | "attack"

interface Record {
  readonly millis: Array<number>
  sent: number
  served: number
}

interface Connection {
  readonly socket: Socket
  onResponse: (ok: boolean) => void
}

export class ChatProbe {
  readonly #port: number
  readonly #request: string
  readonly #idle: Array<Connection> = []
  readonly #all = new Set<Socket>()
  readonly #records: { readonly [P in Period]: Record } = {
    quiet: { millis: [], sent: 0, served: 0 },
    attack: { millis: [], sent: 0, served: 0 }
  }
  firstFailure: string | undefined

  constructor(port: number, key: string) {
    this.#port = port
    this.#request = requestOf(port, key, { kind: "json" })
  }

  sent(period: Period): number {
    return this.#records[period].sent
  }

  served(period: Period): number {
    return this.#records[period].served
  }

  p99Millis(period: Period): number {
    const sorted = Float64Array.from(this.#records[period].millis).sort()
    return sorted[Math.floor(sorted.length * 0.99)] ?? 0
  }

  async during(period: Period, millis: number): Promise<void> {
    const record = this.#records[period]
    const startedAt = performance.now()
    let open = 0
    for (let i = 0; i * (1_000 / CHATS_PER_SECOND) < millis; i++) {
      const plannedAt = startedAt + i * (1_000 / CHATS_PER_SECOND)
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, plannedAt - performance.now())))
      record.sent += 1
      open += 1
      this.#send((ok) => {
        open -= 1
        record.millis.push(performance.now() - plannedAt)
        if (ok) record.served += 1
      })
    }
    const until = performance.now() + LAST_RESPONSE_MILLIS
    while (open > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20))
  }

  close(): void {
    for (const socket of this.#all) socket.destroy()
  }

  #send(onResponse: (ok: boolean) => void): void {
    const connection = this.#idle.pop()
    if (connection === undefined) {
      this.#connect(onResponse)
      return
    }
    connection.onResponse = onResponse
    connection.socket.write(this.#request)
  }

  #connect(onResponse: (ok: boolean) => void): void {
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true })
    const reader = new ResponseReader()
    const connection: Connection = { socket, onResponse }
    const settle = (ok: boolean) => {
      const settled = connection.onResponse
      connection.onResponse = () => {}
      settled(ok)
    }
    this.#all.add(socket)
    socket.once("connect", () => socket.write(this.#request))
    socket.on("data", (data) => {
      const response = reader.read(data)
      if (response === undefined) return
      if (!response.ok) this.firstFailure ??= response.text
      settle(response.ok)
      this.#idle.push(connection)
    })
    socket.on("error", (error) => {
      this.firstFailure ??= error.message
    })
    socket.on("close", () => {
      this.#all.delete(socket)
      const at = this.#idle.indexOf(connection)
      if (at >= 0) this.#idle.splice(at, 1)
      settle(false)
    })
  }
}
