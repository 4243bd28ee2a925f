/**
 * A cable between our connections and the database that a test can cut, freeze, or cut at the worst moment.
 *
 * Settings with the cable's address as host reach the same database as before.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { connect, createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import type * as Pg from "pg"

/** What befalls the next BEGIN: it arrives garbled, so that the server refuses it and hears what comes with it. */
const BEGIN = Buffer.from("BEGIN ")
const GARBLED = Buffer.from("BEGUN ")

/**
 * What befalls the next commit. Lost: the connection breaks before the server hears of it. Its answer lost: the server
 * carries it out, the connection breaks, and nobody hears of that. Stuck: the server waits for it, with its locks, and is
 * not told either when we hang up.
 */
export type Accident = "commit lost" | "answer lost" | "commit stuck"

/** What ends a transaction: the command, or the only statement it is. */
const COMMITS = ["COMMIT\0", "\0write_"].map((sign) => Buffer.from(sign))

export class Cable {
  readonly settings: Pg.ClientConfig
  readonly #directory: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #state: "sound" | "cut" | "frozen" = "sound"
  #accident: Accident | undefined
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

  /** Ends every connection; new ones are refused until {@link mend}. */
  cut(): void {
    this.#state = "cut"
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Nothing passes any more in either direction, and nobody is told; new connections hang likewise. */
  freeze(): void {
    this.#state = "frozen"
    for (const socket of this.#sockets) socket.pause()
  }

  mend(): void {
    this.#state = "sound"
    for (const socket of this.#sockets) socket.resume()
  }

  garbleNextBegin(): void {
    this.#garbles = true
  }

  /** Resolves when it has happened. */
  atNextCommit(accident: Accident): Promise<void> {
    this.#accident = accident
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
    let mute = false
    far.on("data", (chunk) => {
      if (mute) end()
      else near.write(chunk)
    })
    near.on("data", (chunk) => {
      const begin = this.#garbles ? chunk.indexOf(BEGIN) : -1
      if (begin >= 0) {
        this.#garbles = false
        GARBLED.copy(chunk, begin)
      }
      if (COMMITS.some((sign) => chunk.includes(sign))) {
        const accident = this.#accident
        this.#accident = undefined
        if (accident !== undefined) this.#happened()
        if (accident === "commit lost") return end()
        if (accident === "answer lost") mute = true
        if (accident === "commit stuck") {
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
