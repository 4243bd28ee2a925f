/**
 * The attacks of the proof of fair shares, over plain sockets, which take little processor time from the server.
 */
import { connect, type Socket } from "node:net"
import type { FairDeployment } from "./FairDeployment.ts"

export const attackNames = [
  "600 slow bodies, login route",
  "600 slow bodies, chat route",
  "1,000 logins/s, one address",
  "1,000 logins/s, random addresses",
  "100 concurrent mints, one reseller",
  "100 concurrent reads, one reseller",
  "provider hangs",
  "payment provider hangs"
] as const
export type AttackName = (typeof attackNames)[number]

export type Target = Omit<FairDeployment, "stop">

/** The number of responses for each status, and as `unsent` the number of requests for which no connection was free. */
export type Outcomes = Readonly<Record<string, number>>

export const HANGING_MODEL = "hanging-model"
const KIB = 1024

export class Attack {
  readonly #target: Target
  readonly #sockets = new Set<Socket>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly outcomes: Record<string, number> = {}
  #over = false

  constructor(target: Target) {
    this.#target = target
  }

  run(name: AttackName): void {
    const { attacker, otherKey, poorKey } = this.#target
    switch (name) {
      case "600 slow bodies, login route":
        this.#times(600, () => this.#drip("/api/reseller/auth/login", [FROM_ONE], 64 * KIB, 60 * KIB))
        break
      case "600 slow bodies, chat route": {
        const key = `authorization: Bearer ${poorKey}`
        this.#times(600, () => this.#drip("/v1/chat/completions", [key], 2_048 * KIB, 1_024 * KIB))
        break
      }
      case "1,000 logins/s, one address":
        this.#everyMillisecond(() => login(FROM_ONE, "victim@example.com"))
        break
      case "1,000 logins/s, random addresses":
        this.#everyMillisecond(() => login(`x-forwarded-for: ${anyAddress()}`, `${anyName()}@example.com`))
        break
      case "100 concurrent mints, one reseller":
        this.#times(100, () =>
          this.#loop(() =>
            request("POST", "/api/reseller/mint", [`authorization: Bearer ${attacker.token}`], {
              operation_id: anyName(),
              customer_email: attacker.customerEmail,
              plan_tier_id: attacker.tierId
            })
          )
        )
        break
      case "100 concurrent reads, one reseller":
        this.#times(100, () =>
          this.#loop(() => request("GET", "/api/reseller/usage", [`authorization: Bearer ${attacker.token}`]))
        )
        break
      case "provider hangs": {
        const content = "word ".repeat(200 * KIB)
        const chat = { model: HANGING_MODEL, max_tokens: 10, messages: [{ role: "user", content }] }
        this.#times(600, () =>
          this.#loop(() => request("POST", "/v1/chat/completions", [`authorization: Bearer ${otherKey}`], chat))
        )
        break
      }
      case "payment provider hangs":
        this.#times(100, () =>
          this.#loop(() =>
            request("POST", "/api/reseller/topup", [`authorization: Bearer ${attacker.token}`], {
              method: "qris",
              amount_idr: 100_000
            })
          )
        )
    }
  }

  stop(): void {
    this.#over = true
    for (const timer of this.#timers) clearTimeout(timer)
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Starts the parts of an attack within about a second, because a single burst would overflow the listen queue. */
  #times(count: number, part: () => void): void {
    for (let i = 0; i < count; i++) this.#after(i, part)
  }

  #after(millis: number, action: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      if (!this.#over) action()
    }, millis)
    this.#timers.add(timer)
  }

  #open(): Socket {
    const socket = connect({ port: this.#target.port, host: "127.0.0.1", noDelay: true })
    this.#sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => this.#sockets.delete(socket))
    return socket
  }

  #count(data: Buffer): boolean {
    const status = /^HTTP\/1\.1 (\d{3})/.exec(data.toString("latin1", 0, 12))?.[1]
    if (status === undefined) return false
    this.outcomes[status] = (this.outcomes[status] ?? 0) + 1
    return true
  }

  /** Sends `firstBytes` of a body at once, then one byte per second. Begins again after a close by the server. */
  #drip(path: string, headers: ReadonlyArray<string>, announcedBytes: number, firstBytes: number): void {
    const socket = this.#open()
    let drops: NodeJS.Timeout | undefined
    socket.once("connect", () => {
      socket.write(head("POST", path, [...headers, `content-length: ${announcedBytes}`]))
      socket.write(Buffer.alloc(firstBytes, 0x20))
      drops = setInterval(() => socket.write(" "), 1_000)
    })
    socket.on("data", (data) => this.#count(data))
    socket.once("close", () => {
      clearInterval(drops)
      this.#after(1_000, () => this.#drip(path, headers, announcedBytes, firstBytes))
    })
  }

  #loop(next: () => string): void {
    const socket = this.#open()
    socket.on("connect", () => socket.write(next()))
    socket.on("data", (data) => {
      if (this.#count(data)) socket.write(next())
    })
    socket.once("close", () => this.#after(1_000, () => this.#loop(next)))
  }

  /** Sends 1,000 requests per second on as many connections as it needs, up to 2,000. */
  #everyMillisecond(next: () => string): void {
    const idle: Array<Socket> = []
    const startedAt = performance.now()
    let sent = 0
    const send = () => {
      const ready = idle.pop()
      if (ready !== undefined) ready.write(next())
      else if (this.#sockets.size < 2_000) {
        const socket = this.#open()
        socket.once("connect", () => socket.write(next()))
        socket.on("data", (data) => {
          if (this.#count(data)) idle.push(socket)
        })
        socket.once("close", () => idle.splice(idle.indexOf(socket) >>> 0, 1))
      } else this.outcomes.unsent = (this.outcomes.unsent ?? 0) + 1
    }
    const timer = setInterval(() => {
      for (const due = performance.now() - startedAt; sent < due; sent++) send()
    }, 2)
    this.#timers.add(timer)
  }
}

const FROM_ONE = "x-forwarded-for: 203.0.113.7"
const anyByte = () => 1 + Math.floor(Math.random() * 254)
const anyAddress = () => `10.${anyByte()}.${anyByte()}.${anyByte()}`
const anyName = () => `n${Math.random().toString(36).slice(2)}`

const head = (method: string, path: string, headers: ReadonlyArray<string>): string =>
  [`${method} ${path} HTTP/1.1`, "host: proof", "content-type: application/json", ...headers, "", ""].join("\r\n")

const request = (method: string, path: string, headers: ReadonlyArray<string>, body?: object): string => {
  const text = body === undefined ? "" : JSON.stringify(body)
  return head(method, path, body === undefined ? headers : [...headers, `content-length: ${text.length}`]) + text
}

const login = (from: string, email: string): string =>
  request("POST", "/api/reseller/auth/login", [from], { email, password: "wrong horse battery" })
