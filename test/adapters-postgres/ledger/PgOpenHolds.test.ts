import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import { Effect, Layer, Logger, LogLevel } from "effect"
import * as Stores from "../../support/Stores.ts"
import {
  aCustomer,
  aNode,
  aRequest,
  balancesOf,
  complete,
  journal,
  measured,
  openHolds,
  REQUEST_PICO
} from "./Customers.ts"

const unbounded = { concurrency: "unbounded" } as const

/** Sets the last heartbeat of a node to this number of seconds ago. */
const silence = (node: NodeId, seconds: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`UPDATE gateway_node SET beat_at = clock_timestamp() - make_interval(secs => ${seconds}) WHERE id = ${node}`
  )

const delivered = (input: bigint, output: bigint) => measured("complete", input, output).charge.charged

const quiet = Logger.minimumLogLevel(LogLevel.None)

describe("open holds", () => {
  layer(Layer.provideMerge(PgOpenHolds.layer(), Stores.layer).pipe(Layer.provide(quiet)), {
    excludeTestServices: true
  })((it) => {
    it.scoped("are listed as orphaned when their node is dead", () =>
      Effect.gen(function* () {
        const { list, sweep } = yield* OpenHolds
        const customer = yield* aCustomer({ usdMicro: 1n, planTokens: 60n })
        const [{ ledger }, { ledger: another, nodes }] = yield* Effect.all([aNode(), aNode()])
        const [running, orphaned] = [aRequest(customer), aRequest(customer)]
        yield* ledger.admit(running)
        yield* another.admit(orphaned)
        yield* another.checkpoint([{ requestId: orphaned.requestId, checkpoint: delivered(7n, 2n) }])
        yield* silence(nodes.self, 31)
        const common = { email: customer.user.email, model: "m", heldAt: expect.any(Date) }
        expect(yield* list).toEqual([
          {
            ...common,
            requestId: running.requestId,
            hold: { planTokens: 60n, paygPico: 40_000n },
            checkpoint: { input: 0n, output: 0n },
            orphaned: false
          },
          {
            ...common,
            requestId: orphaned.requestId,
            hold: { planTokens: 0n, paygPico: REQUEST_PICO },
            checkpoint: { input: 7n, output: 2n },
            orphaned: true
          }
        ])
        yield* ledger.settle(complete(running))
        yield* sweep
      })
    )

    it.scoped("are not swept while their node sends heartbeats", () =>
      Effect.gen(function* () {
        const { sweep } = yield* OpenHolds
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger, nodes } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* silence(nodes.self, 25)
        expect(yield* sweep).toBe(0)
        yield* silence(nodes.self, 31)
        yield* nodes.beat
        expect(yield* sweep).toBe(0)
        yield* ledger.settle(complete(request))
      })
    )

    it.scoped("are settled at their checkpoints when their node is dead", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { sweep } = yield* OpenHolds
        const customer = yield* aCustomer({ usdMicro: 1n })
        const nodes = yield* Effect.all([aNode(), aNode(), aNode()])
        const requests = [aRequest(customer), aRequest(customer), aRequest(customer)] as const
        yield* Effect.all(nodes.map(({ ledger }, i) => ledger.admit(requests[i] ?? requests[0])))
        yield* nodes[0].ledger.checkpoint([{ requestId: requests[0].requestId, checkpoint: delivered(10n, 5n) }])
        yield* silence(nodes[0].nodes.self, 31)
        yield* nodes[1].nodes.leave
        yield* sql`DELETE FROM gateway_node WHERE id = ${nodes[2].nodes.self}`
        expect(yield* sweep).toBe(3)
        expect(yield* sweep).toBe(0)
        expect(yield* journal(customer)).toEqual(
          new Map([
            [requests[0].requestId, "orphaned"],
            [requests[1].requestId, "failed"],
            [requests[2].requestId, "failed"]
          ])
        )
        expect((yield* balancesOf(customer)).payg).toEqual([970_000n, 0n])
        expect(
          yield* sql`SELECT usage_source, charged_input, charged_output, cost_pico FROM settlement
            WHERE request_id = ${requests[0].requestId}`
        ).toEqual([{ usage_source: "checkpoint", charged_input: 10n, charged_output: 5n, cost_pico: 30_000n }])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("are swept only if their node is deregistered or silent", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { sweepSilent } = yield* OpenHolds
        const customer = yield* aCustomer({ usdMicro: 1n })
        const [sweeper, silent, alive, gone, deregistered] = yield* Effect.all([
          aNode(),
          aNode(),
          aNode(),
          aNode(),
          aNode()
        ])
        const requests = yield* Effect.forEach([sweeper, silent, alive, gone, deregistered], ({ ledger }) => {
          const request = aRequest(customer)
          return Effect.as(ledger.admit(request), request)
        })
        yield* sql`DELETE FROM gateway_node WHERE id = ${gone.nodes.self}`
        yield* deregistered.nodes.leave
        const read = yield* sweeper.nodes.beat
        const others = [silent, alive, gone].map(({ nodes }) => nodes.self)
        expect(read.map(({ node }) => node).sort()).toEqual(others.sort())
        expect(read.find(({ node }) => node === gone.nodes.self)?.beatAt).toBeNull()
        yield* alive.nodes.beat
        // The update has the effect of a database clock that jumps by an hour.
        yield* sql`UPDATE gateway_node SET beat_at = beat_at - interval '1 hour'`
        expect(yield* sweepSilent([])).toBe(1)
        yield* sql`UPDATE gateway_node SET beat_at = beat_at + interval '1 hour'`
        expect(yield* sweepSilent(read)).toBe(2)
        expect(yield* sweepSilent(read)).toBe(0)
        expect([...(yield* journal(customer)).keys()].sort()).toEqual(
          [requests[1], requests[3], requests[4]].map((request) => request?.requestId ?? "").sort()
        )
        yield* silence(alive.nodes.self, 31)
        yield* silence(sweeper.nodes.self, 31)
        expect(yield* Effect.flatMap(OpenHolds, ({ sweep }) => sweep)).toBe(2)
      })
    )

    it.scoped("are settled once when three nodes and their own node settle them", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 100n })
        const { ledger, nodes } = yield* aNode({ batchSize: 10 })
        const requests = Array.from({ length: 200 }, () => aRequest(customer))
        yield* Effect.all(requests.map(ledger.admit), unbounded)
        yield* nodes.leave
        const sweepers = yield* Effect.all([1, 2, 3].map(() => Layer.build(PgOpenHolds.layer())))
        const sweeps = sweepers.map((node) =>
          Effect.provide(
            Effect.flatMap(OpenHolds, ({ sweep }) => sweep),
            node
          )
        )
        const [swept, settled] = yield* Effect.all(
          [
            Effect.all(sweeps, unbounded),
            Effect.all(
              requests.map((request) => ledger.settle(complete(request))),
              unbounded
            )
          ],
          unbounded
        )
        const bySweep = swept.reduce((sum, n) => sum + n, 0)
        const byOwner = settled.filter((outcome) => outcome !== undefined).length
        expect(bySweep + byOwner).toBe(200)
        expect((yield* journal(customer)).size).toBe(200)
        expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - BigInt(byOwner) * REQUEST_PICO, 0n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("are skipped while another session has locked them", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { sweep } = yield* OpenHolds
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger, nodes } = yield* aNode()
        const [locked, free] = [aRequest(customer), aRequest(customer)]
        yield* Effect.all([ledger.admit(locked), ledger.admit(free)])
        yield* nodes.leave
        const swept = yield* sql.withTransaction(
          Effect.zipRight(sql`SELECT FROM open_request WHERE request_id = ${locked.requestId} FOR UPDATE`, sweep)
        )
        expect(swept).toBe(1)
        expect(yield* sweep).toBe(1)
      })
    )

    it.scoped("are skipped without waiting while another session has locked their account", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { sweep } = yield* OpenHolds
        const [one, other] = [yield* aCustomer({ usdMicro: 1n }), yield* aCustomer({ usdMicro: 1n })]
        const { ledger, nodes } = yield* aNode()
        yield* Effect.all([aRequest(one), aRequest(other), aRequest(one)].map(ledger.admit))
        yield* nodes.leave
        const swept = yield* sql.withTransaction(
          Effect.zipRight(
            sql`SELECT FROM account WHERE user_id = ${one.user.id} FOR NO KEY UPDATE`,
            Effect.timeout(sweep, "3 seconds")
          )
        )
        expect(swept).toBe(1)
        expect(yield* sweep).toBe(2)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("are settled when other holds of the batch cannot be settled", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { sweep } = yield* OpenHolds
        const customer = yield* aCustomer({ usdMicro: 100n })
        const { ledger, nodes } = yield* aNode()
        const requests = Array.from({ length: 40 }, () => aRequest(customer))
        yield* Effect.all(requests.map(ledger.admit), unbounded)
        yield* nodes.leave
        const [first, second] = requests
        const broken = [first?.requestId, second?.requestId]
        yield* sql`UPDATE open_request SET price_id = gen_random_uuid() WHERE request_id IN ${sql.in(broken)}`
        expect(yield* sweep).toBe(38)
        expect(yield* openHolds).toBe(2n)
        yield* sql`UPDATE open_request SET price_id = ${customer.model.priceId} WHERE request_id IN ${sql.in(broken)}`
        expect(yield* sweep).toBe(2)
      })
    )

    it.scoped("are all swept if they exceed one batch", () =>
      Effect.gen(function* () {
        const { sweep } = yield* OpenHolds
        const customer = yield* aCustomer({ usdMicro: 1_000n })
        const { ledger, nodes } = yield* aNode()
        yield* Effect.all(
          Array.from({ length: 1_100 }, () => ledger.admit(aRequest(customer))),
          unbounded
        )
        yield* nodes.leave
        expect(yield* sweep).toBe(1_100)
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000_000n, 0n])
      })
    )
  })
})
