/**
 * Tests a server without the packages that only development uses: the simulators and the embedded Postgres.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ServerProcess } from "../support/ServerProcess.ts"
import * as TestDatabase from "../support/TestDatabase.ts"

const scope = Effect.runSync(Scope.make())
const directory = mkdtempSync(join(tmpdir(), "tollgate-production-"))
let database: TestDatabase.Database

beforeAll(async () => {
  database = await Effect.runPromise(Scope.extend(TestDatabase.make(), scope))
})
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(directory, { recursive: true, force: true })
})

describe("a server without simulators and without embedded Postgres", () => {
  const production = {
    NODE_ENV: "production",
    JWT_SECRET: "uR7xkT2mVq9Lw4Zc8Jh3Nf6Yb1Gs5Pd0",
    KEY_PEPPER: "Qy8mTe5rWz2Kx6Hb9Vn4Jc7Lp1Fd3Sg0",
    PAYMENTS_SIMULATOR: "",
    DRAIN_DELAY_SECONDS: "0"
  }

  it("serves in production", async () => {
    const server = await ServerProcess.launch({ ...production, DATABASE_URL: database.url }, "production")
    await server.serving()
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    expect(await server.stop()).toEqual({ code: 0, signal: null })
  })

  it("requires DATABASE_URL", async () => {
    const settings = { DATA_DIR: directory, DEMO: "off" }
    const servers = await Promise.all([
      ServerProcess.launch({ ...production, ...settings }, "production"),
      ServerProcess.launch({ NODE_ENV: "development", ...settings }, "production")
    ])
    for (const server of servers) expect(await server.exited, server.stderr).toEqual({ code: 1, signal: null })
    const line = "tollgate: DATABASE_URL is not set and the embedded Postgres is not installed; set DATABASE_URL\n"
    expect(servers.map(({ stderr }) => stderr)).toEqual([line, line])
  })
})
