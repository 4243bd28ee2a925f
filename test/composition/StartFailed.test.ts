import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { rootMessageOf } from "@tollgate/composition/StartFailed"
import Pg from "pg"
import { describe, expect, it } from "vitest"

describe("the message of the innermost error", () => {
  it("is that of the last cause", () => {
    const refused = new Error("connect ECONNREFUSED 127.0.0.1:1")
    expect(rootMessageOf(new Error("query failed", { cause: new AggregateError([refused]) }))).toBe(refused.message)
  })

  it("names the timeout of a connection attempt instead of the lost connection that follows", async () => {
    const silent = createServer().listen(0, "127.0.0.1")
    await once(silent, "listening")
    const { port } = silent.address() as AddressInfo
    const pool = new Pg.Pool({ host: "127.0.0.1", port, user: "unused", connectionTimeoutMillis: 50 })
    try {
      const failure = await pool.connect().catch((error: unknown) => error)
      expect(rootMessageOf(new Error("cannot connect", { cause: failure }))).toBe("the connection attempt timed out")
    } finally {
      await pool.end()
      silent.close()
    }
  })
})
