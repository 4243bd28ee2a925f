import { inspect } from "node:util"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { Effect, Either, Redacted } from "effect"
import * as Pg from "pg"
import { describe, expect, it } from "vitest"
import * as TestDatabase from "../../support/TestDatabase.ts"

const read = (url: string) => PgSettings.fromUrl(Redacted.make(url))
const settingsOf = (url: string) => Either.getOrThrow(read(url))
const reasonOf = (url: string) => Either.getOrThrow(Either.flip(read(url))).reason

describe("the settings from a database URL", () => {
  it("contain the parts of the URL", () => {
    const { password, ...settings } = settingsOf("postgres://ada:s%40crt@db.example:6543/books")
    expect(settings).toMatchObject({ host: "db.example", port: 6543, user: "ada", database: "books", ssl: false })
    expect(typeof password === "function" && password()).toBe("s@crt")
  })

  it("hide the password when they are printed", () => {
    const settings = settingsOf("postgres://ada:hunter2@db.example/books")
    expect(inspect(settings, { depth: 9 }) + JSON.stringify(settings)).not.toContain("hunter2")
  })

  it.each([
    ["disable", false],
    ["prefer", { rejectUnauthorized: false }],
    ["require", { rejectUnauthorized: false }],
    ["verify-full", {}]
  ])("contain for sslmode=%s the TLS options %j", (mode, ssl) => {
    expect(settingsOf(`postgres://ada@db.example/books?sslmode=${mode}`).ssl).toEqual(ssl)
  })

  it("can name the directory of a Unix socket", () => {
    expect(settingsOf("postgres://postgres@/books?host=%2Ftmp%2Fsocket")).toMatchObject({
      host: "/tmp/socket",
      user: "postgres",
      database: "books"
    })
  })

  it("set a timeout for idle transactions", async () => {
    const database = await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(TestDatabase.make(), ({ url }) =>
          Effect.promise(async () => {
            const client = new Pg.Client(settingsOf(url))
            await client.connect()
            const { rows } = await client.query(
              `SELECT current_setting('application_name') AS app,
                current_setting('idle_in_transaction_session_timeout') AS idle, count(*) AS n FROM account`
            )
            await client.end()
            return rows[0]
          })
        )
      )
    )
    expect(database).toEqual({ app: "tollgate", idle: "5s", n: 4n })
  })

  it.each([
    "postgres://ada:hunter2@one.example:5432,two.example:5432/books?target_session_attrs=read-write",
    "postgres://ada:hunter2@/books?host=one.example,two.example"
  ])("are refused for several hosts: %s", (url) => {
    expect(reasonOf(url)).toMatch(/^it names several hosts;/)
    // A comma in the password does not separate hosts.
    expect(settingsOf("postgres://ada:a,b@one.example/books").host).toBe("one.example")
  })

  it("are refused without the password in the reason", () => {
    expect(reasonOf("mysql://ada:hunter2@db.example/books")).toMatch(/postgres:\/\//)
    for (const url of [
      "mysql://ada:hunter2@db.example/books",
      "postgres://ada:hunter2@db.example:port/books",
      "postgres://ada:hunter2@[db.example/books",
      "postgres://ada:hunter2@db.example/books?sslmode=verify-full&sslrootcert=/nowhere.pem"
    ]) {
      expect(reasonOf(url)).not.toContain("hunter2")
    }
  })
})
