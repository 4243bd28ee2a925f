/**
 * Implements a proxy between a node and the database. A test can cut it, freeze it, or cause a fault at a commit.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { connect, createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import type * as Pg from "pg"

/** Postgres rejects a garbled BEGIN, and executes the following statements. */
const BEGIN = Buffer.from("BEGIN ")
const GARBLED = Buffer.from("BEGUN ")

/**
 * A fault at the next commit.
 * - commit lost: the connection is closed before Postgres receives the commit.
 * - response lost: Postgres commits, and the connection is closed before the response arrives.
 * - response stuck: Postgres commits. Its response does not arrive, and the connection stays open.
 * - commit stuck: Postgres waits for the commit, keeps its locks, and does not detect that the client disconnects.
 */
export type CommitFault = "commit lost" | "response lost" | "response stuck" | "commit stuck"

/** Bytes that mark the end of a transaction: COMMIT, or a write statement that is a transaction by itself. */
const COMMITS = ["COMMIT\0", "\0write_"].map((marker) => Buffer.from(marker))

export class Cable {
  readonly settings: Pg.ClientConfig
  readonly #directory: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #state: "connected" | "cut" | "frozen" = "connected"
  #fault: CommitFault | undefined
  #happened: () => void = () => {}
  #garbles = false

  static readonly scoped = (settings: Pg.ClientConfig): Effect.Effect<Cable, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.promise(async () => {
        const cable = new Cable(settings)
        await new Promise<void>((resolve) => cable.#server.listen(join(cable.#directory, ".s.PGSQL.5432"), resolve))
        return cable
      }),
      (cable) => Effect.sync(() => cable.#remove())
    )

  private constructor(settings: Pg.ClientConfig) {
    this.#directory = mkdtempSync(join(tmpdir(), "tollgate-cable-"))
    this.settings = { ...settings, host: this.#directory }
    this.#server = createServer((near) => this.#join(near, connect(`${settings.host}/.s.PGSQL.5432`)))
  }

  /** Closes every connection, and closes each new connection until {@link mend}. */
  cut(): void {
    this.#state = "cut"
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Stops all traffic in both directions without an error, also on new connections. */
  freeze(): void {
    this.#state = "frozen"
    for (const socket of this.#sockets) socket.pause()
  }

  mend(): void {
    this.#state = "connected"
    for (const socket of this.#sockets) socket.resume()
  }

  garbleNextBegin(): void {
    this.#garbles = true
  }

  /** The promise resolves when the fault happens. */
  atNextCommit(fault: CommitFault): Promise<void> {
    this.#fault = fault
    return new Promise((resolve) => {
      this.#happened = resolve
    })
  }

  #join(near: Socket, far: Socket): void {
    for (const socket of [near, far]) {
      this.#sockets.add(socket)
      socket.on("error", () => {})
      if (this.#state === "frozen") socket.pause()
    }
    const end = () => {
      for (const socket of [near, far]) {
        socket.destroy()
        this.#sockets.delete(socket)
      }
    }
    near.on("close", end)
    far.on("close", end)
    if (this.#state === "cut") end()
    let fault: CommitFault | undefined
    far.on("data", (chunk) => {
      if (fault === "response lost") end()
      else if (fault !== "response stuck") near.write(chunk)
    })
    near.on("data", (chunk) => {
      const begin = this.#garbles ? chunk.indexOf(BEGIN) : -1
      if (begin >= 0) {
        this.#garbles = false
        GARBLED.copy(chunk, begin)
      }
      if (COMMITS.some((marker) => chunk.includes(marker))) {
        if (this.#fault !== undefined) {
          fault = this.#fault
          this.#fault = undefined
          this.#happened()
        }
        if (fault === "commit lost") return end()
        if (fault === "commit stuck") {
          near.off("close", end)
          return
        }
      }
      far.write(chunk)
    })
  }

  #remove(): void {
    this.cut()
    this.#server.close()
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
