import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import * as Migrations from "@tollgate/adapters-postgres/migrations/Migrations"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import type { Ending } from "@tollgate/domain/inference/Charge"
import { kindsOfModels, protocols } from "@tollgate/domain/inference/InferenceRequest"
import { Effect, Layer } from "effect"
import { longHistory } from "../../bench/LongHistory.ts"
import { type Ledger, orderOf } from "../../support/LedgerRows.ts"
import * as TestDatabase from "../../support/TestDatabase.ts"

describe("migrations", () => {
  it.scopedLive("create the schema in an empty database", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      yield* Effect.gen(function* () {
        const names = Migrations.migrations.map(({ name }) => name)
        expect(yield* Migrations.pending()).toEqual(names)
        expect(yield* Migrations.migrate()).toEqual(names)
        expect(yield* Migrations.pending()).toEqual([])
        expect(yield* Migrations.migrate()).toEqual([])
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )

  it.scopedLive("are applied once when four nodes start concurrently", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      const node = Migrations.migrate().pipe(Effect.provide(TestDatabase.clientLayer(database)))
      const applied = yield* Effect.all([node, node, node, node], { concurrency: "unbounded" })
      expect(applied.flat()).toEqual(Migrations.migrations.map(({ name }) => name))
    })
  )

  it.scopedLive("are not applied when one of them fails", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      yield* Effect.gen(function* () {
        const steps = [
          ...Migrations.migrations,
          { name: "9998_fine", statements: "CREATE TABLE later (id int)" },
          { name: "9999_broken", statements: "CREATE TABLE broken (id nonsense)" }
        ]
        const exit = yield* Effect.exit(Migrations.migrate(steps))
        expect(exit._tag).toBe("Failure")
        const sql = yield* SqlClient.SqlClient
        expect(yield* sql`SELECT to_regclass('later') AS later`).toEqual([{ later: null }])
        expect(yield* Migrations.pending(steps)).toEqual(["9998_fine", "9999_broken"])
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )

  it.scopedLive("count the usage of existing settlements", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      const before = Migrations.migrations.findIndex(({ name }) => name === "0007_usage_by_grain")
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Migrations.migrate(Migrations.migrations.slice(0, before))
        yield* sql.unsafe(longHistory(3_000))
        yield* Migrations.migrate()
        const grains = sql`SELECT grain, sum(tokens)::text AS tokens FROM usage_rollup GROUP BY 1 ORDER BY 1`
        const counted = yield* grains
        expect(counted.map(({ grain }) => grain)).toEqual(["day", "hour", "minute"])
        const { rebuild } = yield* UsageRollUps
        expect(yield* rebuild).toEqual({ days: expect.toSatisfy((days) => days >= 90), corrected: 0 })
        expect(yield* grains).toEqual(counted)
      }).pipe(Effect.provide(PgUsageRollUps.layer.pipe(Layer.provideMerge(TestDatabase.clientLayer(database)))))
    })
  )

  it.scopedLive("make a crypto order due if it was credited in the last week", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      const before = Migrations.migrations.findIndex(({ name }) => name === "0008_second_payments")
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Migrations.migrate(Migrations.migrations.slice(0, before))
        const credited = { status: "'credited'", paid_at: "now()", next_look_at: "NULL" }
        const inRupiah = {
          method: "'qris'",
          amount_idr: "100000",
          fee_idr: "5000",
          total_idr: "105000",
          token_kind: "NULL",
          deposit_index: "NULL",
          instructions: `'{"_tag": "Qris"}'`
        }
        const orders = [
          orderOf(A_RESELLER, "new", { ...credited, credited_at: "now() - interval '6 days'" }),
          orderOf(A_RESELLER, "old", { ...credited, credited_at: "now() - interval '8 days'" }),
          orderOf(A_RESELLER, "code", { ...credited, ...inRupiah, credited_at: "now()" })
        ]
        // Without triggers and foreign keys, the orders need neither a reseller nor a transfer.
        yield* sql.withTransaction(sql.unsafe(`SET LOCAL session_replication_role = replica; ${orders.join("; ")}`))
        yield* Migrations.migrate()
        const due = yield* sql`SELECT provider_payment_id AS payment FROM topup_order WHERE next_look_at <= now()`
        expect(due).toEqual([{ payment: `new of ${A_RESELLER.resellerId}` }])
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )

  it.scopedLive("create checks that allow exactly the domain's model kinds and protocols", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Migrations.migrate()
        const checks = yield* sql<{ name: string; definition: string }>`
          SELECT conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint
          WHERE contype = 'c' AND pg_get_constraintdef(oid) ~ '''(images|image)''' AND conname !~ '^model_check'
          ORDER BY conname`
        expect(checks.map(({ name }) => name)).toEqual([
          "model_kind_check",
          "open_request_protocol_check",
          "provider_protocols_check",
          "settlement_protocol_check"
        ])
        for (const { name, definition } of checks) {
          const known = name === "model_kind_check" ? kindsOfModels : protocols
          const names = [...definition.matchAll(/'(\w+)'/g)].map(([, word]) => word)
          expect(names.toSorted(), name).toEqual(known.toSorted())
        }
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )

  it.scopedLive("leave the name inference_hold in no table, constraint or function", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const names = yield* sql`
          SELECT relname AS name FROM pg_class WHERE relname ~ 'inference_hold'
          UNION ALL SELECT conname FROM pg_constraint WHERE conname ~ 'inference_hold'
          UNION ALL SELECT proname FROM pg_proc WHERE prosrc ~ 'inference_hold'`
        expect(names).toEqual([])
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )

  it.scopedLive("create a check that allows exactly the domain's endings", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const checks = yield* sql<{ name: string; definition: string }>`
          SELECT conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint
          WHERE contype = 'c' AND pg_get_constraintdef(oid) ~ '''orphaned'''`
        expect(checks.map(({ name }) => name)).toEqual(["settlement_ending_check"])
        const names = [...(checks[0]?.definition ?? "").matchAll(/'(\w+)'/g)].map(([, word]) => word)
        expect(names.toSorted()).toEqual(Object.keys(ENDINGS).toSorted())
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )

  it.scopedLive("create a check that refuses max_output_tokens for image and embedding models", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make()
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const insert = (kind: string, capabilities: string, maxOutputTokens = "1") =>
          Effect.exit(
            sql.withTransaction(
              sql.unsafe(`SET LOCAL session_replication_role = replica;
                INSERT INTO model (id, public_name, display_name, author, kind, discovery_rank, hidden, capabilities,
                  price_id, max_output_tokens)
                VALUES (gen_random_uuid(), '${kind}', 'm', 'a', '${kind}', 0, false, '${capabilities}',
                  gen_random_uuid(), ${maxOutputTokens})`)
            )
          )
        expect((yield* insert("text", "{}"))._tag).toBe("Success")
        for (const [kind, capabilities] of [
          ["image", "{edit}"],
          ["embedding", "{}"]
        ] as const) {
          expect((yield* insert(kind, capabilities))._tag, kind).toBe("Failure")
          expect((yield* insert(kind, capabilities, "NULL"))._tag, kind).toBe("Success")
        }
      }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
    })
  )
})

const ENDINGS: Readonly<Record<Ending, true>> = {
  complete: true,
  client_gone: true,
  upstream_cut: true,
  balance_exhausted: true,
  failed: true,
  orphaned: true
}

const A_RESELLER = { resellerId: "0193a5c2-0000-7000-8000-000000000000" } as Ledger
