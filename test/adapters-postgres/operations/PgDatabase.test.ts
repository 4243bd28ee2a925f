import { createServer } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import * as PgDatabase from "@tollgate/adapters-postgres/operations/PgDatabase"
import { Database } from "@tollgate/application/operations/Database"
import { Effect, Layer } from "effect"
import * as TestDatabase from "../../support/TestDatabase.ts"

const over = (database: TestDatabase.Database) =>
  PgDatabase.layer.pipe(Layer.provide(TestDatabase.clientLayer(database)))

describe("the database", () => {
  it.scopedLive("reports its pending migrations until it is migrated", () =>
    Effect.gen(function* () {
      const fresh = yield* TestDatabase.make("empty")
      yield* Effect.gen(function* () {
        const database = yield* Database
        const before = yield* database.state
        expect(before.serverVersion).toMatch(/^1[5-9]/)
        expect(before.synchronousCommit).toBe("off")
        expect(Math.abs(before.clockAheadMillis)).toBeLessThan(1_000)
        expect(before.pendingMigrations).toContain("0001_foundation")
        expect(yield* database.migrate).toEqual(before.pendingMigrations)
        expect((yield* database.state).pendingMigrations).toEqual([])
        expect(yield* database.reachable).toBe(true)
      }).pipe(Effect.provide(over(fresh)))
    })
  )

  it.scopedLive("has an identity that no other database has", () =>
    Effect.gen(function* () {
      const [one, other] = yield* Effect.all([TestDatabase.make(), TestDatabase.make()])
      const identity = Effect.flatMap(Database, (database) => database.identity)
      const known = yield* Effect.provide(identity, over(one))
      expect(known).toMatch(/^\d+\/\d+$/)
      expect(yield* Effect.provide(identity, over(one))).toBe(known)
      expect(yield* Effect.provide(identity, over(other))).not.toBe(known)
    })
  )

  it.scopedLive("is not reachable when nothing listens on its port", () =>
    Effect.gen(function* () {
      const settings = { host: "127.0.0.1", port: 1, user: "unknown", database: "none" }
      const database = over({ settings, url: "" })
      expect(yield* Effect.flatMap(Database, ({ reachable }) => reachable).pipe(Effect.provide(database))).toBe(false)
    })
  )

  it.scopedLive("is checked over one connection for forty concurrent callers", () =>
    Effect.gen(function* () {
      let connections = 0
      const port = yield* Effect.async<number>((resume) => {
        const server = createServer(() => connections++).listen(0, "127.0.0.1", () => {
          const address = server.address()
          resume(Effect.succeed(typeof address === "object" ? (address?.port ?? 0) : 0))
        })
        server.unref()
      })
      const settings = { host: "127.0.0.1", port, user: "unknown", database: "none", connectionTimeoutMillis: 60_000 }
      const database = over({ settings, url: "" })
      const many = Effect.flatMap(Database, ({ reachable }) =>
        Effect.all(
          Array.from({ length: 40 }, () => reachable),
          { concurrency: "unbounded" }
        )
      )
      expect(yield* Effect.provide(many, database)).toEqual(Array(40).fill(false))
      expect(connections).toBe(1)
    })
  )
})
