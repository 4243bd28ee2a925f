import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { lastMigration } from "@tollgate/adapters-postgres/migrations/NodeVersions"
import * as PgNodes from "@tollgate/adapters-postgres/operations/PgNodes"
import { type NodeId, Nodes } from "@tollgate/application/operations/Nodes"
import { Context, Effect, Layer } from "effect"
import * as TestDatabase from "../../support/TestDatabase.ts"

const aNode = Effect.map(Layer.build(PgNodes.layer), Context.get(Nodes))

const live = { fresh: true, left: false, last_migration: lastMigration }

const row = (node: NodeId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [found] = yield* sql<{ fresh: boolean; left: boolean; last_migration: string | null }>`
      SELECT last_migration, beat_at > clock_timestamp() - interval '5 seconds' AS fresh, left_at IS NOT NULL AS left
      FROM gateway_node WHERE id = ${node}`
    return found
  })

describe("a node", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    it.scoped("is registered with the last migration of its program", () =>
      Effect.gen(function* () {
        const [one, another] = yield* Effect.all([aNode, aNode])
        expect(one.self).not.toBe(another.self)
        expect(yield* row(one.self)).toEqual(live)
      })
    )

    it.scoped("writes its row at each heartbeat", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { self, beat } = yield* aNode
        yield* sql`UPDATE gateway_node SET beat_at = beat_at - interval '1 minute' WHERE id = ${self}`
        yield* beat
        expect(yield* row(self)).toEqual(live)
        yield* sql`DELETE FROM gateway_node WHERE id = ${self}`
        yield* beat
        expect(yield* row(self)).toEqual(live)
      })
    )

    it.scoped("stays deregistered when a heartbeat arrives after its deregistration", () =>
      Effect.gen(function* () {
        const { self, beat, leave } = yield* aNode
        yield* leave
        yield* beat
        expect(yield* row(self)).toMatchObject({ left: true })
      })
    )

    it.scoped("is deleted when another node starts, if it sent no heartbeat for 8 days", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { self } = yield* aNode
        yield* sql`UPDATE gateway_node SET beat_at = clock_timestamp() - interval '8 days' WHERE id = ${self}`
        yield* aNode
        expect(yield* row(self)).toBeUndefined()
      })
    )
  })
})
