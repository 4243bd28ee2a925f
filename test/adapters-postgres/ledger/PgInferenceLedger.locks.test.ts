import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { Duration, Effect, Exit } from "effect"
import * as Stores from "../../support/Stores.ts"
import { anotherSession } from "./AnotherSession.ts"
import {
  aCustomer,
  aNode,
  aRequest,
  balancesOf,
  type Customer,
  complete,
  extension,
  journal,
  mint,
  REQUEST_PICO
} from "./Customers.ts"

/** The longest delay that locked rows of one customer may cause for another customer. */
const MAX_DELAY_MILLIS = 1_000

type Ledger = Effect.Effect.Success<ReturnType<typeof aNode>>["ledger"]

const served = (ledger: Ledger, request: ReturnType<typeof aRequest>) =>
  Effect.zipRight(ledger.admit(request), ledger.settle(complete(request)))

const eventually = <A, E, R>(condition: Effect.Effect<A, E, R>, holds: (value: A) => boolean) =>
  Effect.repeat(Effect.delay(condition, "10 millis"), { until: holds }).pipe(Effect.timeout("60 seconds"))

const accountsOf = ({ user }: Customer, kind: "payg" | "plan") =>
  `SELECT FROM account WHERE kind = '${kind}' AND user_id = '${user.id}' FOR NO KEY UPDATE`
const holdOf = (requestId: RequestId) => `SELECT FROM open_request WHERE request_id = '${requestId}' FOR UPDATE`

describe("the ledger, while a customer's rows are locked,", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    for (const locked of ["pay-as-you-go balance", "plan", "hold"] as const) {
      it.scoped(`serves another customer within one second (locked: ${locked})`, () =>
        Effect.gen(function* () {
          const [one, other] = [
            yield* aCustomer({ usdMicro: 9n, planTokens: 97n }),
            yield* aCustomer({ usdMicro: 900_000n })
          ]
          const { ledger } = yield* aNode({ admissionMillis: 1_500 })
          const request = aRequest(one)
          yield* Effect.all([ledger.admit(request), served(ledger, aRequest(other))])
          const { lock, unlock } = yield* anotherSession
          yield* lock(
            locked === "hold" ? holdOf(request.requestId) : accountsOf(one, locked === "plan" ? "plan" : "payg")
          )
          const settled = yield* Effect.forkScoped(ledger.settle(complete(request)))
          const refused = yield* Effect.forkScoped(Effect.timed(Effect.flip(ledger.admit(aRequest(one)))))
          const waits: Array<number> = []
          const until = performance.now() + 2_500
          while (performance.now() < until) {
            const begunAt = performance.now()
            yield* served(ledger, aRequest(other))
            waits.push(performance.now() - begunAt)
            // Without a pause, the requests would use all processor time, and the result would be the same.
            yield* Effect.sleep("10 millis")
          }
          expect(Math.max(...waits)).toBeLessThan(MAX_DELAY_MILLIS)
          // At most two requests are delayed, because not every batch waits for the lock.
          expect(waits.filter((millis) => millis > 200).length).toBeLessThanOrEqual(2)
          const [time, refusal] = yield* refused.await.pipe(Effect.flatten)
          expect(refusal).toEqual(new Overloaded({ retryAfterSeconds: 1 }))
          expect(Duration.toMillis(time)).toBeLessThan(1_700)
          expect(yield* journal(one)).toEqual(new Map())

          yield* unlock
          expect(yield* Effect.timeout(settled.await, "500 millis")).toEqual(
            Exit.succeed(expect.objectContaining({ settlement: expect.objectContaining({ planTokens: 97n }) }))
          )
          expect(yield* journal(one)).toEqual(new Map([[request.requestId, "complete"]]))
          expect(yield* balancesOf(one)).toEqual({ plan: [0n, 0n], payg: [9_000_000n, 0n] })
          yield* served(ledger, aRequest(one))
          expect((yield* journal(one)).size).toBe(2)
          expect(yield* Stores.brokenInvariants).toEqual([])
        })
      )
    }

    for (const locked of ["pay-as-you-go balance", "plan", "hold"] as const) {
      it.scoped(`extends the hold of another customer within one second (locked: ${locked})`, () =>
        Effect.gen(function* () {
          const [one, other] = [
            yield* aCustomer({ usdMicro: 9n, planTokens: 97n }),
            yield* aCustomer({ usdMicro: 900_000n })
          ]
          const { ledger } = yield* aNode()
          const [request, running] = [aRequest(one), aRequest(other)]
          yield* Effect.all([ledger.admit(request), ledger.admit(running)])
          const { lock, unlock } = yield* anotherSession
          yield* lock(
            locked === "hold" ? holdOf(request.requestId) : accountsOf(one, locked === "plan" ? "plan" : "payg")
          )
          const extended = yield* Effect.forkScoped(ledger.extend(extension(request, 11n)))
          yield* Effect.yieldNow()
          for (const output of [10n, 20n, 30n]) {
            const [time, grown] = yield* Effect.timed(ledger.extend(extension(running, output)))
            expect(grown?.paygPico).toBe(96_000n + output * 4_000n)
            expect(Duration.toMillis(time)).toBeLessThan(MAX_DELAY_MILLIS)
          }
          expect(yield* balancesOf(one)).toEqual({ plan: [97n, 97n], payg: [9_000_000n, 0n] })
          expect(ledger.isAmple(aRequest(one))).toBe(false)
          yield* unlock
          expect(yield* Effect.timeout(extended.await, "500 millis")).toEqual(
            Exit.succeed({ planTokens: 97n, paygPico: 40_000n })
          )
          yield* Effect.all([ledger.settle(complete(request, 96n, 11n)), ledger.settle(complete(running))])
          expect(yield* balancesOf(one)).toEqual({ plan: [0n, 0n], payg: [8_960_000n, 0n] })
          expect(yield* Stores.brokenInvariants).toEqual([])
        })
      )
    }

    it.scoped("serves a customer with a locked plan for another model", () =>
      Effect.gen(function* () {
        const [one, another] = [yield* aCustomer({ usdMicro: 9n }), yield* aCustomer({ usdMicro: 9n })]
        const other = { ...another, model: yield* Stores.aModel("n") }
        yield* mint({ ...one, model: other.model }, 97n)
        const { ledger } = yield* aNode({ batchSize: 8 })
        yield* (yield* anotherSession).lock(accountsOf(one, "plan"))
        const requests = Array.from({ length: 20 }, (_, i) => aRequest(i % 2 === 0 ? one : other))
        const [time] = yield* Effect.timed(
          Effect.all(
            requests.map((request) => served(ledger, request)),
            { concurrency: "unbounded" }
          )
        )
        expect(Duration.toMillis(time)).toBeLessThan(MAX_DELAY_MILLIS)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("serves another customer on two nodes", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* aCustomer({ usdMicro: 100n }), yield* aCustomer({ usdMicro: 100n })]
        const nodes = yield* Effect.all([aNode({ batchSize: 8 }), aNode({ batchSize: 8 })])
        const requests = Array.from({ length: 400 }, (_, i) => ({
          ledger: (nodes[i % 2] ?? nodes[0]).ledger,
          request: aRequest(i % 4 < 2 ? one : other)
        }))
        const { lock, unlock } = yield* anotherSession
        yield* lock(accountsOf(one, "payg"))
        const serving = yield* Effect.forkScoped(
          Effect.forEach(requests, ({ ledger, request }) => served(ledger, request), { concurrency: "unbounded" })
        )
        yield* eventually(journal(other), (settled) => settled.size === 200)
        expect(yield* journal(one)).toEqual(new Map())
        yield* unlock
        yield* Effect.timeout(serving.await.pipe(Effect.flatten), "5 seconds")
        for (const customer of [one, other]) {
          expect((yield* journal(customer)).size).toBe(200)
          expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - 200n * REQUEST_PICO, 0n])
        }
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("keeps unsettled holds at the flush timeout", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [one, other] = [yield* aCustomer({ usdMicro: 1n }), yield* aCustomer({ usdMicro: 1n })]
        const [blocked, free] = [aRequest(one), aRequest(other)]
        const { lock } = yield* anotherSession
        const settled = yield* Effect.scoped(
          Effect.gen(function* () {
            const { ledger } = yield* aNode({ flushMillis: 600 })
            yield* Effect.all([ledger.admit(blocked), ledger.admit(free)])
            yield* lock(accountsOf(one, "payg"))
            const settled = yield* Effect.forkDaemon(ledger.settle(complete(blocked)))
            yield* Effect.yieldNow()
            yield* ledger.settleLater(complete(free))
            return settled
          })
        ).pipe(Effect.timeout("3 seconds"))
        expect(yield* settled.await).toMatchObject({ _tag: "Failure", cause: { _tag: "Die" } })
        expect(yield* journal(other)).toEqual(new Map([[free.requestId, "complete"]]))
        expect(yield* sql`SELECT request_id FROM open_request WHERE user_id = ${one.user.id}`).toEqual([
          { request_id: blocked.requestId }
        ])
        expect((yield* balancesOf(one)).payg).toEqual([1_000_000n, REQUEST_PICO])
      })
    )
  })
})
