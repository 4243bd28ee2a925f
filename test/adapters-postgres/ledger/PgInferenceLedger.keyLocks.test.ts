import { describe, expect, layer } from "@effect/vitest"
import { Duration, Effect, type Fiber } from "effect"
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
  REQUEST_PICO
} from "./Customers.ts"
import { asLimited, change, countsOf } from "./LimitedCustomers.ts"

/** The longest delay that a locked key of one customer may cause for another customer. */
const MAX_DELAY_MILLIS = 1_000
const LIMITS = { spend_usd_micro_total: 1_000, requests_per_minute: 1_000 }

type Ledger = Effect.Effect.Success<ReturnType<typeof aNode>>["ledger"]

const served = (ledger: Ledger, request: ReturnType<typeof aRequest>) =>
  Effect.zipRight(ledger.admit(request), ledger.settle(complete(request)))

const keyOf = ({ principal }: Customer) =>
  `SELECT FROM counted_key WHERE key_id = '${principal.keyId}' FOR NO KEY UPDATE`

/** Serves requests of a customer one after the other for two seconds. Returns the time of each request. */
const timesOf = (ledger: Ledger, customer: Customer) =>
  Effect.gen(function* () {
    const times: Array<number> = []
    const until = performance.now() + 2_000
    while (performance.now() < until) {
      const [time] = yield* Effect.timed(served(ledger, aRequest(customer)))
      times.push(Duration.toMillis(time))
      // Without a pause, the requests would use all processor time, and the result would be the same.
      yield* Effect.sleep("10 millis")
    }
    return times
  })

const endOf = <A, E>(fiber: Fiber.Fiber<A, E>) => fiber.await.pipe(Effect.flatten, Effect.timeout("500 millis"))

describe("the ledger, while a limited key's row is locked,", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    for (const limits of ["known", "set after the authentication"] as const) {
      for (const pending of ["settlement", "extension", "admission"] as const) {
        it.scoped(`serves another customer within one second (waiting: ${pending}, limits ${limits})`, () =>
          Effect.gen(function* () {
            const [created, other] = [yield* aCustomer({ usdMicro: 9n }), yield* aCustomer({ usdMicro: 900_000n })]
            yield* change(created, LIMITS)
            const one = limits === "known" ? asLimited(created) : created
            const { ledger } = yield* aNode({ admissionMillis: 20_000 })
            const [first, second] = [aRequest(one), aRequest(one)]
            yield* Effect.all([ledger.admit(first), served(ledger, aRequest(other))])
            const { lock, unlock } = yield* anotherSession
            yield* lock(keyOf(one))
            const waiting = yield* Effect.forkScoped(
              {
                settlement: Effect.asVoid(ledger.settle(complete(first))),
                extension: Effect.asVoid(ledger.extend(extension(first, 2n))),
                admission: Effect.asVoid(ledger.admit(second))
              }[pending]
            )
            const times = yield* timesOf(ledger, other)
            expect(Math.max(...times)).toBeLessThan(MAX_DELAY_MILLIS)
            // At most two requests are delayed, because not every batch waits for the lock.
            expect(times.filter((millis) => millis > 200).length).toBeLessThanOrEqual(2)
            expect(waiting.unsafePoll()).toBeNull()
            expect(ledger.isAmple(aRequest(created))).toBe(false)
            expect(yield* countsOf(one)).toMatchObject({ openRequests: 1, pending: REQUEST_PICO, spentTotal: 0n })
            expect(yield* balancesOf(one)).toMatchObject({ payg: [9_000_000n, REQUEST_PICO] })

            yield* unlock
            yield* endOf(waiting)
            if (pending !== "admission") yield* ledger.admit(second)
            yield* ledger.settle(complete(first))
            yield* ledger.settle(complete(second))
            expect(yield* journal(one)).toEqual(
              new Map([
                [first.requestId, "complete"],
                [second.requestId, "complete"]
              ])
            )
            expect(yield* balancesOf(one)).toMatchObject({ payg: [9_000_000n - 2n * REQUEST_PICO, 0n] })
            expect(yield* countsOf(one)).toMatchObject({
              openRequests: 0,
              pending: 0n,
              spentTotal: 2n * REQUEST_PICO,
              requests: 2
            })
            expect(yield* Stores.brokenInvariants).toEqual([])
          })
        )
      }
    }

    it.scoped("serves another customer on two nodes", () =>
      Effect.gen(function* () {
        const [created, other] = [yield* aCustomer({ usdMicro: 100n }), yield* aCustomer({ usdMicro: 100n })]
        yield* change(created, LIMITS)
        const nodes = yield* Effect.all([aNode({ batchSize: 8 }), aNode({ batchSize: 8 })])
        const serve = (customer: Customer, count: number) =>
          Effect.forEach(
            Array.from({ length: count }, (_, i) => (nodes[i % 2] ?? nodes[0]).ledger),
            (ledger) => served(ledger, aRequest(customer)),
            { concurrency: "unbounded" }
          )
        const { lock, unlock } = yield* anotherSession
        yield* lock(keyOf(created))
        // The limits are known for one half of the requests of the customer.
        const serving = yield* Effect.forkScoped(
          Effect.all([serve(created, 100), serve(asLimited(created), 100)], { concurrency: "unbounded" })
        )
        yield* Effect.timeout(serve(other, 200), "3 seconds")
        expect(yield* journal(created)).toEqual(new Map())
        yield* unlock
        yield* Effect.timeout(serving.await.pipe(Effect.flatten), "5 seconds")
        for (const customer of [created, other]) {
          expect((yield* journal(customer)).size).toBe(200)
          expect(yield* balancesOf(customer)).toMatchObject({ payg: [100_000_000n - 200n * REQUEST_PICO, 0n] })
        }
        expect(yield* countsOf(created)).toMatchObject({
          openRequests: 0,
          pending: 0n,
          spentTotal: 200n * REQUEST_PICO,
          requests: 200
        })
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )
  })
})

describe("the ledger", () => {
  /** Longer than the other times of the test, so a request that waits for the lock exceeds `MAX_DELAY_MILLIS`. */
  const lockMillis = 3_000

  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped.each([
      ["user", ({ user }: Customer) => `SELECT FROM app_user WHERE id = '${user.id}' FOR UPDATE`],
      ["API key", ({ principal }: Customer) => `SELECT FROM api_key WHERE id = '${principal.keyId}' FOR UPDATE`]
    ] as const)("serves two customers within one second while one %s row is locked", ([, rowOf]) =>
      Effect.gen(function* () {
        const [created, other] = [yield* aCustomer({ usdMicro: 9n }), yield* aCustomer({ usdMicro: 9n })]
        yield* change(created, LIMITS)
        const one = asLimited(created)
        const cached = (yield* aNode({ lockMillis })).ledger
        const running = aRequest(one)
        yield* Effect.all([cached.admit(running), served(cached, aRequest(other))])
        const { lock, unlock } = yield* anotherSession
        yield* lock(rowOf(one))
        const uncached = (yield* aNode({ lockMillis })).ledger
        const all = Effect.forEach([cached, uncached], (ledger) =>
          Effect.forEach([one, other], (customer) => served(ledger, aRequest(customer)))
        )
        const [time] = yield* Effect.timed(
          Effect.all([all, cached.extend(extension(running, 2n))]).pipe(
            Effect.zipRight(cached.settle(complete(running)))
          )
        )
        yield* unlock
        expect(Duration.toMillis(time)).toBeLessThan(MAX_DELAY_MILLIS)
        expect([(yield* journal(one)).size, (yield* journal(other)).size]).toEqual([3, 3])
        expect(yield* countsOf(one)).toMatchObject({ openRequests: 0, pending: 0n })
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )
  })
})
