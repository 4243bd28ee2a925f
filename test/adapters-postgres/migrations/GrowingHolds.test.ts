import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import * as Migrations from "@tollgate/adapters-postgres/migrations/Migrations"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { type Model, ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import { PicoPerToken } from "@tollgate/domain/ledger/Price"
import { Effect, Layer } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"
import * as TestDatabase from "../../support/TestDatabase.ts"
import { aNode, aRequest, aRequestId, balancesOf, complete, journal, openHolds } from "../ledger/Customers.ts"

const MODEL: Model = {
  id: ModelId("01890000-0000-7000-8000-00000000000a"),
  priceId: PriceId("01890000-0000-7000-8000-00000000000b"),
  publicName: "m",
  displayName: "M",
  author: "Lab",
  kind: "text",
  discoveryRank: 0,
  hidden: false,
  capabilities: [],
  price: {
    input: PicoPerToken(1_000n),
    cacheWrite: PicoPerToken(1_250n),
    cacheRead: PicoPerToken(100n),
    output: PicoPerToken(4_000n)
  },
  routes: [],
  retired: false
}

const LIVING = "01890000-0000-7000-8000-00000000000c"
const DEAD = "01890000-0000-7000-8000-00000000000d"

/** Version 0009 has no column for the largest output of a model. */
const MODEL_AND_NODES = `
  INSERT INTO model (id, public_name, display_name, author, kind, discovery_rank, hidden, capabilities, price_id)
    VALUES ('${MODEL.id}', 'm', 'M', 'Lab', 'text', 0, false, '{}', '${MODEL.priceId}');
  INSERT INTO price (id, model_id, input, cache_write, cache_read, output)
    VALUES ('${MODEL.priceId}', '${MODEL.id}', 1000, 1250, 100, 4000);
  INSERT INTO gateway_node (id) VALUES ('${LIVING}');
  INSERT INTO gateway_node (id, started_at, beat_at)
    VALUES ('${DEAD}', now() - interval '1 hour', now() - interval '10 minutes')`

const atVersion0009 = Migrations.migrations.slice(
  0,
  Migrations.migrations.findIndex(({ name }) => name === "0010_growing_holds")
)

interface OldHold {
  readonly node: string
  readonly planTokens: bigint
  readonly paygPico: bigint
  readonly checkpoint: readonly [input: bigint, output: bigint]
}

describe("migration 0010", () => {
  it.scopedLive("keeps the open holds of version 0009", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make("empty")
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Migrations.migrate(atVersion0009)
        yield* sql.withTransaction(sql.unsafe(MODEL_AND_NODES))
        const user = yield* Stores.aPayer(1n)
        const keyId = yield* Stores.anEarlierKey(user.id)
        const customer = { user, principal: { keyId, userId: user.id }, model: MODEL }
        yield* Programme.grant(user.id, MODEL.id, 50n)

        const hold = ({ node, planTokens, paygPico, checkpoint: [input, output] }: OldHold) =>
          Effect.gen(function* () {
            const requestId = aRequestId()
            yield* sql`
              INSERT INTO inference_hold (request_id, user_id, api_key_id, model_id, price_id, protocol, streamed,
                plan_account, plan_tokens, payg_account, payg_pico, node_id, checkpoint_input, checkpoint_output)
              SELECT ${requestId}::uuid, ${user.id}::uuid, ${keyId}::uuid, ${MODEL.id}::uuid, ${MODEL.priceId}::uuid,
                'chat', true, plan.id, ${planTokens}::bigint, payg.id, ${paygPico}::bigint, ${node}::uuid,
                ${input}::bigint, ${output}::bigint
              FROM account AS plan, account AS payg
              WHERE plan.user_id = ${user.id} AND plan.kind = 'plan' AND payg.user_id = ${user.id} AND payg.kind = 'payg'`
            yield* sql`
              UPDATE account SET debits_pending = debits_pending + CASE kind WHEN 'plan' THEN ${planTokens}::bigint
                ELSE ${paygPico}::bigint END
              WHERE user_id = ${user.id}`
            return requestId
          })
        const running = yield* hold({ node: LIVING, planTokens: 50n, paygPico: 0n, checkpoint: [10n, 20n] })
        const expensive = yield* hold({ node: LIVING, planTokens: 0n, paygPico: 100_000n, checkpoint: [10n, 5n] })
        const orphaned = yield* hold({ node: DEAD, planTokens: 0n, paygPico: 200_000n, checkpoint: [10n, 5n] })
        const undelivered = yield* hold({ node: DEAD, planTokens: 0n, paygPico: 300_000n, checkpoint: [0n, 0n] })

        expect(yield* Migrations.migrate()).toContain("0010_growing_holds")
        expect(yield* Stores.brokenInvariants).toEqual([])
        const { list, sweep } = yield* OpenHolds
        expect((yield* list).map(({ requestId, hold, orphaned }) => ({ requestId, ...hold, orphaned }))).toEqual([
          { requestId: running, planTokens: 50n, paygPico: 0n, orphaned: false },
          { requestId: expensive, planTokens: 0n, paygPico: 100_000n, orphaned: false },
          { requestId: orphaned, planTokens: 0n, paygPico: 200_000n, orphaned: true },
          { requestId: undelivered, planTokens: 0n, paygPico: 300_000n, orphaned: true }
        ])

        const { ledger } = yield* aNode()
        const settle = (requestId: typeof running, input: bigint, output: bigint) =>
          ledger.settle(complete({ ...aRequest(customer), requestId }, input, output))
        yield* settle(running, 10n, 30n)
        expect(yield* sweep).toBe(2)
        // The plan covered 10 tokens of the orphaned request; the other 5 tokens cost 20,000 pico-USD. The
        // pay-as-you-go balance was 1,000,000 pico-USD, and is now 980,000. This response costs 1,018,000.
        const settled = yield* settle(expensive, 10n, 252n)
        expect(settled?.settlement).toMatchObject({ planTokens: 0n, paygPico: 980_000n, writeoffPico: 38_000n })
        expect(yield* journal(customer)).toEqual(
          new Map([
            [running, "complete"],
            [expensive, "complete"],
            [orphaned, "orphaned"],
            [undelivered, "failed"]
          ])
        )
        expect(yield* balancesOf(customer)).toEqual({ payg: [0n, 0n], plan: [0n, 0n] })
        expect(yield* openHolds).toBe(0n)
        expect(yield* Stores.brokenInvariants).toEqual([])
      }).pipe(
        Effect.provide(
          Layer.provideMerge(Layer.merge(PgOpenHolds.layer(), Stores.stores), TestDatabase.clientLayer(database))
        )
      )
    })
  )
})
