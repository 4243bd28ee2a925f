import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import * as Migrations from "@tollgate/adapters-postgres/migrations/Migrations"
import { KeyLimitStore } from "@tollgate/application/customer/KeyLimits"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { Effect, Layer } from "effect"
import * as Stores from "../../support/Stores.ts"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { aNode, aRequest, aRequestId, balancesOf, complete, journal, openHolds } from "../ledger/Customers.ts"

const at = (name: string) => Migrations.migrations.findIndex((migration) => migration.name === name)
const atVersion0013 = Migrations.migrations.slice(0, at("0014_key_limits"))

const NODE = "01890000-0000-7000-8000-00000000000c"

/** Writes a hold of 100,000 pico-USD as version 0013 does: it names no column that migration 0014 adds. */
const oldHold = (requestId: string) => `
  WITH held AS (UPDATE account SET debits_pending = debits_pending + 100000 WHERE kind = 'payg' RETURNING id, user_id)
  INSERT INTO open_request (request_id, user_id, api_key_id, model_id, price_id, protocol, streamed, plan_account,
    plan_tokens, payg_account, payg_pico, node_id, checkpoint_input, checkpoint_output)
  SELECT '${requestId}', held.user_id, api_key.id, model.id, model.price_id, 'chat', true, NULL, 0, held.id, 100000,
    '${NODE}', 10, 5
  FROM held JOIN api_key ON api_key.user_id = held.user_id, model`

/** Creates a key as version 0013 does. */
const OLD_KEY = `
  INSERT INTO api_key (id, public_id, user_id, name, secret_mac, pepper_version)
  SELECT '01890000-0000-7000-8000-00000000000d', 'AAAAAAAAAAAAAAAA', id, 'old', decode(repeat('00', 32), 'hex'), 1
  FROM app_user`

describe("migration 0014", () => {
  it.scopedLive("keeps the open holds of version 0013", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Migrations.migrate(atVersion0013)
        const model = yield* Stores.aModel("m")
        const user = yield* Stores.aPayer(1n)
        const keyId = yield* Stores.anEarlierKey(user.id)
        const customer = { user, principal: { keyId, userId: user.id }, model }
        yield* sql.unsafe(`INSERT INTO gateway_node (id) VALUES ('${NODE}')`)
        const [running, orphaned, later] = [aRequestId(), aRequestId(), aRequestId()]
        yield* sql.unsafe(oldHold(running))
        yield* sql.unsafe(oldHold(orphaned))

        expect(yield* Migrations.migrate()).toContain("0014_key_limits")
        yield* sql.unsafe(oldHold(later))
        yield* sql.unsafe(OLD_KEY)
        expect(yield* Stores.brokenInvariants).toEqual([])

        const limits = yield* KeyLimitStore
        const status = yield* limits.change(
          keyId,
          { spend_usd_micro_total: 1, concurrent_requests: 1 },
          Stores.operator
        )
        expect(status.counts).toMatchObject({ pending: 0n, openRequests: 0 })
        const { ledger } = yield* aNode()
        const settled = (requestId: typeof running) =>
          ledger.settle(complete({ ...aRequest(customer), requestId }, 10n, 5n))
        expect((yield* settled(running))?.settlement.paygPico).toBe(30_000n)
        expect((yield* settled(later))?.settlement.paygPico).toBe(30_000n)
        yield* sql.unsafe(`UPDATE gateway_node SET left_at = clock_timestamp() WHERE id = '${NODE}'`)
        expect(yield* (yield* OpenHolds).sweep).toBe(1)

        expect(yield* openHolds).toBe(0n)
        expect(yield* balancesOf(customer)).toMatchObject({ payg: [910_000n, 0n] })
        expect([...(yield* journal(customer)).values()].sort()).toEqual(["complete", "complete", "orphaned"])
        // Requests that were admitted before the limit do not count.
        expect((yield* limits.read(keyId)).counts).toMatchObject({ spentTotal: 0n, openRequests: 0 })
        expect(yield* Stores.brokenInvariants).toEqual([])
      }).pipe(
        Effect.provide(
          Layer.provideMerge(Layer.merge(PgOpenHolds.layer(), Stores.stores), TestDatabase.clientLayer(database))
        )
      )
    })
  )
})
