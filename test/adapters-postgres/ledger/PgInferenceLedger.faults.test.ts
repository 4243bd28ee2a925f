import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import type { LedgerOptions } from "@tollgate/adapters-postgres/ledger/PgInferenceLedger"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { Effect, Fiber } from "effect"
import * as Stores from "../../support/Stores.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Cable } from "../client/Cable.ts"
import {
  aCustomer,
  aNode,
  aRequest,
  balancesOf,
  complete,
  extension,
  journal,
  openHolds,
  REQUEST_PICO,
  terminateLedgers
} from "./Customers.ts"

const unbounded = { concurrency: "unbounded" } as const
const shortTimeouts: Partial<LedgerOptions> = { admissionMillis: 1_000, transactionMillis: 1_500, connectMillis: 1_500 }

/** Starts a node that is connected to the database through a cable (a proxy that causes faults). */
const wired = (options: Partial<LedgerOptions> = {}) =>
  Effect.gen(function* () {
    const cable = yield* Cable.scoped((yield* TestDatabase).settings)
    return { cable, ...(yield* aNode(options, cable.settings)) }
  })

const eventually = <A, E, R>(condition: Effect.Effect<A, E, R>, isMet: (value: A) => boolean) =>
  Effect.repeat(Effect.delay(condition, "10 millis"), { until: isMet }).pipe(Effect.timeout("60 seconds"))

describe("the ledger during database faults", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped("settles each request once while its connections are terminated", () =>
      Effect.gen(function* () {
        const customers = yield* Effect.all(Array.from({ length: 4 }, () => aCustomer({ usdMicro: 100n })))
        // On a slow machine, the connections are terminated again and again before a transaction ends.
        const { ledger } = yield* aNode({ batchSize: 8, queues: 2, admissionMillis: 30_000 })
        const requests = Array.from({ length: 1_200 }, (_, i) => {
          const [customer] = customers.slice(i % customers.length)
          return customer === undefined ? Effect.void : served(ledger, aRequest(customer))
        })
        const serving = yield* Effect.fork(Effect.all(requests, { concurrency: 60, discard: true }))
        let killed = 0
        while (killed < 12 && (yield* Fiber.poll(serving))._tag === "None") {
          killed += yield* terminateLedgers
          yield* Effect.sleep("40 millis")
        }
        yield* Fiber.join(serving)
        expect(killed).toBeGreaterThan(2)
        for (const customer of customers) {
          expect((yield* journal(customer)).size).toBe(300)
          expect((yield* balancesOf(customer)).payg).toEqual([70_000_000n, 0n])
        }
        expect(yield* openHolds).toBe(0n)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    // commit lost: Postgres does not receive the commit. response lost: Postgres commits, but its response is lost.
    for (const fault of ["commit lost", "response lost"] as const) {
      it.scoped(`admits each request once (${fault})`, () =>
        Effect.gen(function* () {
          const customer = yield* aCustomer({ usdMicro: 1n })
          const { ledger, cable } = yield* wired()
          yield* served(ledger, aRequest(customer))
          void cable.atNextCommit(fault)
          const requests = Array.from({ length: 9 }, () => aRequest(customer))
          const holds = yield* Effect.all(requests.map(ledger.admit), unbounded)
          expect(holds).toEqual(requests.map(() => ({ planTokens: 0n, paygPico: REQUEST_PICO })))
          expect((yield* balancesOf(customer)).payg).toEqual([900_000n, 9n * REQUEST_PICO])
          yield* Effect.all(
            requests.map((request) => ledger.settle(complete(request))),
            unbounded
          )
          expect((yield* balancesOf(customer)).payg).toEqual([0n, 0n])
        })
      )

      it.scoped(`settles a request once (${fault})`, () =>
        Effect.gen(function* () {
          const customer = yield* aCustomer({ usdMicro: 1n })
          const { ledger, cable } = yield* wired()
          const request = aRequest(customer)
          yield* ledger.admit(request)
          void cable.atNextCommit(fault)
          expect(yield* ledger.settle(complete(request))).toMatchObject({ settlement: { paygPico: REQUEST_PICO } })
          expect((yield* balancesOf(customer)).payg).toEqual([900_000n, 0n])
          expect((yield* journal(customer)).size).toBe(1)
        })
      )

      for (const [growth, output, paygPico] of [
        ["the whole extension", 100n, 496_000n],
        ["a part of the extension", 10_000n, 1_000_000n]
      ] as const) {
        it.scoped(`grows a hold once by ${growth} (${fault})`, () =>
          Effect.gen(function* () {
            const customer = yield* aCustomer({ usdMicro: 1n })
            const { ledger, cable } = yield* wired()
            const request = aRequest(customer)
            yield* ledger.admit(request)
            void cable.atNextCommit(fault)
            expect(yield* ledger.extend(extension(request, output))).toEqual({ planTokens: 0n, paygPico })
            expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, paygPico])
            expect(yield* Stores.brokenInvariants).toEqual([])
            yield* ledger.settle(complete(request))
            expect((yield* balancesOf(customer)).payg).toEqual([900_000n, 0n])
          })
        )
      }
    }

    it.scoped("serves requests when Postgres rejects BEGIN", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger, cable } = yield* wired()
        const request = aRequest(customer)
        cable.garbleNextBegin()
        yield* ledger.admit(request)
        expect(yield* ledger.settle(complete(request))).toMatchObject({ settlement: { paygPico: REQUEST_PICO } })
        expect((yield* balancesOf(customer)).payg).toEqual([900_000n, 0n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("refuses admissions within two seconds during an outage", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger, cable } = yield* wired(shortTimeouts)
        const request = aRequest(customer)
        yield* ledger.admit(request)
        cable.cut()
        const settled = yield* Effect.fork(ledger.settle(complete(request)))
        const refused = yield* Effect.all(
          Array.from({ length: 20 }, () => Effect.flip(ledger.admit(aRequest(customer)))),
          unbounded
        ).pipe(Effect.timeout(2_000))
        expect(new Set(refused.map(({ _tag }) => _tag))).toEqual(new Set(["Overloaded"]))
        cable.mend()
        expect(yield* Fiber.join(settled)).toBeDefined()
        yield* served(ledger, aRequest(customer))
        expect((yield* balancesOf(customer)).payg).toEqual([800_000n, 0n])
      })
    )

    it.scoped("refuses an admission within two seconds if the database hangs", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger, cable } = yield* wired(shortTimeouts)
        yield* served(ledger, aRequest(customer))
        cable.freeze()
        const refused = yield* Effect.timeout(Effect.flip(ledger.admit(aRequest(customer))), 2_000)
        expect(refused).toEqual(new Overloaded({ retryAfterSeconds: 1 }))
        cable.mend()
        yield* served(ledger, aRequest(customer))
        yield* eventually(openHolds, (count) => count === 0n)
        expect((yield* balancesOf(customer)).payg).toEqual([800_000n, 0n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("refuses an extension within two seconds if the database hangs", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 100n })
        const { ledger, cable } = yield* wired(shortTimeouts)
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* eventually(
          Effect.sync(() => ledger.isAmple(aRequest(customer))),
          (isAmple) => isAmple
        )
        cable.freeze()
        const refused = yield* Effect.timeout(Effect.flip(ledger.extend(extension(request, 100n))), 2_000)
        expect(refused).toEqual(new Overloaded({ retryAfterSeconds: 1 }))
        expect(ledger.isAmple(aRequest(customer))).toBe(false)
        cable.mend()
        expect(yield* ledger.extend(extension(request, 150n))).toEqual({ planTokens: 0n, paygPico: 696_000n })
        expect(yield* ledger.settle(complete(request))).toMatchObject({ settlement: { paygPico: REQUEST_PICO } })
        expect((yield* balancesOf(customer)).payg).toEqual([99_900_000n, 0n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("keeps an extension that is committed after its deadline", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode({ admissionMillis: 1_000, lockMillis: 5_000, transactionMillis: 5_000 })
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT FROM account WHERE user_id = ${customer.user.id} FOR UPDATE`
            expect(yield* Effect.flip(ledger.extend(extension(request, 100n)))).toBeInstanceOf(Overloaded)
          })
        )
        yield* eventually(balancesOf(customer), ({ payg }) => payg[1] === 496_000n)
        yield* Effect.sleep("300 millis")
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 496_000n])
        expect(yield* journal(customer)).toEqual(new Map())
        yield* ledger.settle(complete(request))
        expect((yield* balancesOf(customer)).payg).toEqual([900_000n, 0n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("releases the hold of an admission committed after its deadline", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode({ admissionMillis: 1_000, lockMillis: 5_000, transactionMillis: 5_000 })
        const request = aRequest(customer)
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT id FROM account WHERE user_id = ${customer.user.id} FOR UPDATE`
            expect(yield* Effect.flip(ledger.admit(request))).toBeInstanceOf(Overloaded)
          })
        )
        yield* eventually(journal(customer), (settled) => settled.size === 1)
        expect(yield* journal(customer)).toEqual(new Map([[request.requestId, "failed"]]))
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 0n])
      })
    )

    it.scoped("keeps unsettled holds at the flush timeout", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const request = aRequest(customer)
        const stopped = Effect.scoped(
          Effect.gen(function* () {
            const { ledger, cable } = yield* wired({ ...shortTimeouts, flushMillis: 200 })
            yield* ledger.admit(request)
            cable.cut()
            yield* ledger.settleLater(complete(request))
          })
        )
        yield* Effect.timeout(stopped, 5_000)
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, REQUEST_PICO])
      })
    )
  })
})

type Ledger = Effect.Effect.Success<ReturnType<typeof aNode>>["ledger"]

const served = (ledger: Ledger, request: ReturnType<typeof aRequest>) =>
  Effect.zipRight(ledger.admit(request), ledger.settle(complete(request)))
