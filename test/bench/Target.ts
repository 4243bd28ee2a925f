/** Defines a target of the benchmark: a server that responds to chat requests and is measured. */
import { createServer } from "node:net"

export interface Target {
  readonly name: string
  readonly port: number
  readonly keys: ReadonlyArray<string>
  /** The ids of the processes whose CPU time and memory are measured. */
  readonly pids: ReadonlyArray<number>
  readonly stop: () => Promise<void>
}

/** Returns a TCP port that is free now. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/**
 * Calls the condition repeatedly until it holds. Fails if it is still false after `millis` milliseconds. An exception
 * in the condition counts as false.
 */
export const eventually = async (what: string, millis: number, holds: () => Promise<boolean>): Promise<void> => {
  const until = performance.now() + millis
  while (!(await holds().catch(() => false))) {
    if (performance.now() > until) throw new Error(`${what}: not ready within ${millis} ms`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
