/**
 * A server of chat requests that the benchmark measures.
 */
import { createServer } from "node:net"

export interface Target {
  readonly name: string
  readonly port: number
  readonly keys: ReadonlyArray<string>
  /** The processes that do the work. Their CPU and memory are the cost. */
  readonly pids: ReadonlyArray<number>
  readonly stop: () => Promise<void>
}

/** A port of this machine that is free now. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Latencies until this holds, for a bounded time. */
export const eventually = async (what: string, millis: number, holds: () => Promise<boolean>): Promise<void> => {
  const until = performance.now() + millis
  while (!(await holds().catch(() => false))) {
    if (performance.now() > until) throw new Error(`${what}: not within ${millis} ms`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
