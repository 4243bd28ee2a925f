/**
 * Tests that the demo prints an API key that works, also if the key file and the database do not belong together.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { ServerProcess } from "../support/ServerProcess.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

const home = mkdtempSync(join(tmpdir(), "tollgate-demo-"))
const scope = Effect.runSync(Scope.make())
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(home, { recursive: true, force: true })
})

/** Starts a server with the demo, reads the printed key, sends a request with it, and stops the server. */
const tryDemo = async (database: TestDatabase.Database): Promise<{ readonly key: string; readonly status: number }> => {
  const server = await ServerProcess.start({
    NODE_ENV: "development",
    DATABASE_URL: database.url,
    DATA_DIR: home,
    DEMO: "on",
    SIMULATOR_PORT: "0"
  })
  await server.printed(/Ctrl-C/)
  const key = /^ +key +(\S+)$/m.exec(server.stdout)?.[1] ?? ""
  const { status } = await fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  await server.stop()
  return { key, status }
}

describe("the demo prints a key that works", () => {
  it("on a new database with the key file of an earlier database", async () => {
    const make = () => Effect.runPromise(Scope.extend(TestDatabase.make("migrated"), scope))
    const [first, second] = [await make(), await make()]
    const before = await tryDemo(first)
    expect(before.status).toBe(200)
    expect(await tryDemo(first)).toEqual(before)
    const after = await tryDemo(second)
    expect(after.status).toBe(200)
    expect(await tryDemo(second)).toEqual(after)
  }, 60_000)
})
