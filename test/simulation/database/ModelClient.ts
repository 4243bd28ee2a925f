/**
 * The client of one connection to the modelled database, and the network between them.
 *
 * The network delays packets in both directions and keeps them in order. When a connection is lost, a random number of
 * the last packets on the way is lost too. Either side can notice a lost connection late, or never.
 */
import type { Driver, DriverClient, Response } from "@tollgate/adapters-postgres/ledger/LedgerDriver"
import * as Pg from "pg"
import type { Event, Process, SimulatedTime } from "../SimulatedTime.ts"
import type { Database } from "./Database.ts"
import { Refused } from "./Rows.ts"
import { type Message, type Reply, Session, type SessionEnd } from "./Session.ts"

/** The network between one process and the database. */
export class Network {
  readonly database: Database
  readonly process: Process
  /** The longest usual delay of a packet in one direction. */
  readonly latencyMillis: number
  frozenUntil = 0
  readonly clients = new Set<ModelClient>()

  constructor(database: Database, process: Process, latencyMillis: number) {
    this.database = database
    this.process = process
    this.latencyMillis = latencyMillis
  }

  get delayMillis(): number {
    const { random } = this.database.time
    const usual = this.latencyMillis * (0.2 + 0.8 * random.next())
    return random.chance(0.02) ? usual + random.skewed(0, 200) : usual
  }

  driver(purpose: string): Driver {
    return { open: () => new ModelClient(this, `${this.process.name} ${purpose}`) }
  }

  breakConnections(all: boolean): void {
    const { random } = this.database.time
    const clients = [...this.clients]
    if (clients.length === 0) return
    for (const client of all ? clients : [random.pick(clients)]) client.lose()
  }
}

interface Pending {
  readonly resolve: (response: Response) => void
  readonly reject: (error: Error) => void
}

type Outgoing = Message | "disconnect"

export class ModelClient implements DriverClient {
  readonly #network: Network
  readonly #time: SimulatedTime
  readonly #by: string
  #session: Session | undefined
  #pending: Array<Pending> = []
  #connecting: Pending | undefined
  readonly #listeners: Array<() => void> = []
  /** The packet that departs at the end of this turn of the event loop. */
  #packet: Array<Outgoing> | undefined
  #packetAt = -1
  #lastUpAt = 0
  #lastDownAt = 0
  /** Events that deliver packets, in order. */
  #up: Array<Event> = []
  #down: Array<Event> = []
  #closed = false
  #lost = false

  constructor(network: Network, by: string) {
    this.#network = network
    this.#time = network.database.time
    this.#by = by
    network.clients.add(this)
  }

  connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#connecting = { resolve: () => resolve(), reject }
      this.#sendUp(() => {
        const { database } = this.#network
        if (database.isDown) this.#sendDown(() => this.#fail(new Error("connect ECONNREFUSED")))
        else {
          this.#session = new Session(database, this.#by, this.#onReplies, this.#onEnd, () => this.lose())
          this.#sendDown(() => {
            this.#connecting = undefined
            resolve()
          })
        }
      })
    })
  }

  query({ name, text, values = [] }: Parameters<DriverClient["query"]>[0]): Promise<Response> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        this.#time.after(0.01, this.#network.process, () => reject(new Error("the client is not queryable")))
        return
      }
      this.#pending.push({ resolve, reject })
      this.#post({ name, text, values })
    })
  }

  on(_: "error" | "end", listener: () => void): void {
    this.#listeners.push(listener)
  }

  destroy(): void {
    if (this.#closed) return
    this.#closed = true
    this.#network.clients.delete(this)
    if (!this.#lost) this.#post("disconnect")
    this.#time.after(0.1, this.#network.process, () => this.#fail(new Error("Connection terminated")))
  }

  /** Loses the connection, and a random number of the last packets on the way in each direction. */
  lose(): void {
    const { random } = this.#time
    if (this.#lost) return
    this.#lost = true
    for (const packets of [this.#up, this.#down]) {
      for (const lost of packets.splice(random.integer(0, packets.length))) this.#time.cancel(lost)
    }
    const session = this.#session
    // Without a reset, a backend keeps its locks until it is idle for too long or another connection terminates it.
    if (session !== undefined && random.chance(0.7)) {
      const at = Math.max(this.#lastUpAt - this.#time.now, 0) + random.skewed(0, 50)
      this.#time.after(at, undefined, () => session.receive(["disconnect"]))
    }
    if (random.chance(0.7)) {
      const at = Math.max(this.#lastDownAt - this.#time.now, 0) + random.skewed(0, 50)
      this.#time.after(at, this.#network.process, () => this.#fail(new Error("Connection terminated unexpectedly")))
    }
  }

  /** Ends the connection because its process has ended. The backend notices this, unless the network is broken. */
  abandon(): void {
    if (this.#closed) return
    this.#closed = true
    this.#network.clients.delete(this)
    if (!this.#lost) this.#post("disconnect")
  }

  #post(message: Outgoing): void {
    if (this.#packet !== undefined && this.#packetAt === this.#time.now && !this.#time.random.chance(0.1)) {
      this.#packet.push(message)
      return
    }
    const packet = [message]
    this.#packet = packet
    this.#packetAt = this.#time.now
    this.#sendUp(() => {
      if (this.#packet === packet) this.#packet = undefined
      this.#session?.receive(packet)
    })
  }

  readonly #onReplies = (replies: ReadonlyArray<Reply | Refused>, busyMillis: number): void => {
    this.#sendDown(() => {
      for (const reply of replies) this.#receive(reply)
    }, busyMillis)
  }

  readonly #onEnd = (end: SessionEnd): void => {
    this.#sendDown(() => {
      const [first] = this.#pending
      if (end !== undefined && first !== undefined) {
        this.#pending.shift()
        first.reject(databaseError(end))
      }
      this.#fail(new Error("Connection terminated unexpectedly"))
    })
  }

  #receive(reply: Reply | Refused): void {
    const pending = this.#pending.shift()
    if (pending === undefined) return
    if (reply instanceof Refused) pending.reject(databaseError(reply))
    else pending.resolve(reply as unknown as Response)
  }

  #fail(error: Error): void {
    this.#closed = true
    this.#network.clients.delete(this)
    this.#connecting?.reject(error)
    this.#connecting = undefined
    const pending = this.#pending
    this.#pending = []
    for (const { reject } of pending) reject(error)
    for (const listener of this.#listeners) listener()
  }

  #sendUp(deliver: () => void): void {
    this.#lastUpAt = Math.max(this.#lastUpAt, this.#time.now + this.#network.delayMillis)
    this.#send(this.#up, this.#lastUpAt, undefined, deliver)
  }

  #sendDown(deliver: () => void, busyMillis = 0): void {
    this.#lastDownAt = Math.max(this.#lastDownAt, this.#time.now + busyMillis + this.#network.delayMillis)
    this.#send(this.#down, this.#lastDownAt, this.#network.process, deliver)
  }

  #send(packets: Array<Event>, at: number, process: Process | undefined, deliver: () => void): void {
    if (this.#lost) return
    const arrive = () => {
      packets.splice(packets.indexOf(event), 1)
      const { frozenUntil } = this.#network
      if (frozenUntil > this.#time.now) this.#send(packets, frozenUntil, process, deliver)
      else deliver()
    }
    // A duration would be rounded, and packets that wait for the same instant could change their order.
    const event = this.#time.at(at, process, arrive)
    packets.push(event)
  }
}

const databaseError = ({ message, state }: Refused): Pg.DatabaseError =>
  Object.assign(new Pg.DatabaseError(message, 0, "error"), { code: state })
