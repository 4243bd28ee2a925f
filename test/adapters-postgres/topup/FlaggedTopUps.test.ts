import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { FLAGGED } from "@tollgate/adapters-postgres/topup/TopUpRows"
import { TokenRaw } from "@tollgate/domain/money/TokenRaw"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { anomaliesOf, type TopUpOrder, TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import { Effect } from "effect"
import * as TestDatabase from "../../support/TestDatabase.ts"

const EXPIRES = new Date("2026-11-20T09:45:00.000Z")
const QUOTA = UsdMicro(10n)
const MICRO = 10n ** 12n

const received = [
  {},
  ...[0n, 1n, MICRO - 1n, MICRO, 10n * MICRO, 11n * MICRO - 1n, 11n * MICRO].map((raw) => ({
    receivedRaw: TokenRaw(raw)
  })),
  ...[0n, 1n, 10n, 11n].map((micro) => ({ receivedUsdMicro: UsdMicro(micro) })),
  { receivedRaw: TokenRaw(MICRO), receivedUsdMicro: UsdMicro(11n) }
]
const paid = [undefined, EXPIRES, new Date(EXPIRES.getTime() + 1)]
const remarks = [[], ["seen by a test"]]

/** Combinations of the facts of an order that decide about its anomalies. */
const orders = TopUpStatus.literals.flatMap((status) =>
  paid.flatMap((paidAt) =>
    received.flatMap((amounts) =>
      remarks.map((remarked) => ({
        status,
        paidAt,
        expiresAt: EXPIRES,
        quotaUsdMicro: QUOTA,
        received: { receivedRaw: undefined, receivedUsdMicro: undefined, ...amounts },
        evidence: { transactions: [], remarks: remarked }
      }))
    )
  )
)

describe("the condition of flagged top-ups", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    it.effect("is true exactly for the orders with an anomaly", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const order of orders) {
          const { receivedRaw, receivedUsdMicro } = order.received
          const [row] = yield* sql<{
            flagged: boolean
          }>`SELECT coalesce(${sql.literal(FLAGGED)}, false) AS flagged FROM (SELECT
            ${order.paidAt ?? null}::timestamptz AS paid_at, ${EXPIRES}::timestamptz AS expires_at,
            ${order.status}::text AS status, ${QUOTA}::bigint AS quota_usd_micro,
            ${JSON.stringify(order.evidence)}::jsonb AS evidence, ${receivedRaw ?? null}::numeric AS received_raw, ${receivedUsdMicro ?? null}::numeric AS received_usd_micro) AS o`
          const anomalies = anomaliesOf(order as unknown as TopUpOrder)
          expect([row?.flagged, order]).toEqual([anomalies.length > 0, order])
        }
        expect(orders.length).toBe(390)
      })
    )

    it.effect("can be evaluated with the index for flagged top-ups", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`SET enable_seqscan = off`
        const plan = yield* sql<{ "QUERY PLAN": string }>`EXPLAIN SELECT o.id FROM topup_order o
          WHERE o.provision_state = 'ready' AND ${sql.literal(FLAGGED)} ORDER BY o.created_at DESC, o.id DESC LIMIT 10`
        expect(plan.map((row) => row["QUERY PLAN"]).join("\n")).toContain("topup_order_to_inspect")
      })
    )
  })
})
