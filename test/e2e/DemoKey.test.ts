/**
 * Tests the API key that the demo prints and stores in DATA_DIR.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
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

const settings = { NODE_ENV: "development", DEMO: "on", SIMULATOR_PORT: "0" }

/** Starts a server with the demo, reads the printed key, sends a request with it, and stops the server. */
const tryDemo = async (database: TestDatabase.Database): Promise<{ readonly key: string; readonly status: number }> => {
  const server = await ServerProcess.start({ ...settings, DATABASE_URL: database.url, DATA_DIR: home })
  await server.printed(/Ctrl-C/)
  const key = /^ +key +(\S+)$/m.exec(server.stdout)?.[1] ?? ""
  const { status } = await fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  await server.stop()
  return { key, status }
}

const database = () => Effect.runPromise(Scope.extend(TestDatabase.make("migrated"), scope))

describe("the key of the demo", () => {
  it("works on a new database with the key file of an earlier database", async () => {
    const [first, second] = [await database(), await database()]
    expect((await tryDemo(first)).status).toBe(200)
    const after = await tryDemo(second)
    expect(after.status).toBe(200)
    expect(await tryDemo(second)).toEqual(after)
  })

  it("ends the start if it cannot be stored", async () => {
    const { url } = await database()
    const secret = "a secret of the tests, long enough to sign with"
    const unusable = { DATA_DIR: join(home, "file"), JWT_SECRET: secret, KEY_PEPPER: secret }
    writeFileSync(unusable.DATA_DIR, "")
    const server = await ServerProcess.launch({ ...settings, ...unusable, DATABASE_URL: url, LOG_LEVEL: "error" })
    expect(await server.exited).toEqual({ code: 1, signal: null })
    expect(server.stderr).toMatch(/^tollgate: the API key of the demo cannot be stored: .*file.*\n$/)
  })
})
