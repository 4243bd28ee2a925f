import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import { KeyBudgetExceeded, KeyRateLimited } from "@tollgate/domain/ledger/KeyHold"
import { Effect, Either, Layer } from "effect"
import * as Stores from "../../support/Stores.ts"
import { aCustomer, aNode, aRequest, balancesOf, complete, extension, failed, REQUEST_PICO } from "./Customers.ts"
import { aLimited, asLimited, change, countsOf } from "./LimitedCustomers.ts"

const unbounded = { concurrency: "unbounded" } as const
const HUNDRED = Array.from({ length: 100 })

const twoNodes = Effect.all([aNode({ batchSize: 7 }), aNode({ batchSize: 7 })])

describe("a limited key", () => {
  layer(Layer.provideMerge(PgOpenHolds.layer(), Stores.layer), { excludeTestServices: true })((it) => {
    it.scoped("admits ten of two hundred requests if its budget covers ten", () =>
      Effect.gen(function* () {
        const customer = yield* aLimited({ spend_usd_micro_per_day: 1 })
        const nodes = yield* twoNodes
        const results = yield* Effect.all(
          nodes.flatMap(({ ledger }) =>
            HUNDRED.map(() =>
              Effect.gen(function* () {
                const request = aRequest(customer)
                const admitted = yield* Effect.either(ledger.admit(request))
                if (Either.isRight(admitted)) yield* ledger.settle(complete(request))
                return admitted
              })
            )
          ),
          unbounded
        )
        expect(results.filter(Either.isRight)).toHaveLength(10)
        expect(results.find(Either.isLeft)).toEqual(Either.left(new KeyBudgetExceeded()))
        expect(yield* countsOf(customer)).toMatchObject({
          openRequests: 0,
          pending: 0n,
          spentInDay: 10n * REQUEST_PICO,
          spentInMonth: 10n * REQUEST_PICO,
          spentTotal: 10n * REQUEST_PICO
        })
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("does not limit another key", () =>
      Effect.gen(function* () {
        const customer = yield* aLimited({ spend_usd_micro_total: 1 })
        const other = yield* aCustomer({ usdMicro: 1_000_000n })
        const { ledger } = yield* aNode()
        for (let served = 0; served < 10; served++) {
          const [request, unlimited] = [aRequest(customer), aRequest(other)]
          yield* Effect.all([ledger.admit(request), ledger.admit(unlimited)], unbounded)
          yield* Effect.all([ledger.settle(complete(request)), ledger.settle(complete(unlimited))], unbounded)
        }
        expect(yield* Effect.flip(ledger.admit(aRequest(customer)))).toEqual(new KeyBudgetExceeded())
        yield* ledger.admit(aRequest(other))
        expect(yield* countsOf(customer)).toMatchObject({ pending: 0n, spentTotal: 10n * REQUEST_PICO })
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("counts the list price of tokens that a plan pays", () =>
      Effect.gen(function* () {
        const customer = asLimited(yield* aCustomer({ planTokens: 1_000n }))
        yield* change(customer, { spend_usd_micro_total: 1 })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* ledger.settle(complete(request))
        expect((yield* balancesOf(customer)).plan).toEqual([903n, 0n])
        expect(yield* countsOf(customer)).toMatchObject({ spentTotal: REQUEST_PICO })
      })
    )

    it.scoped("extends a stream until the budget is used up", () =>
      Effect.gen(function* () {
        const customer = yield* aLimited({ spend_usd_micro_per_day: 1 })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        const first = yield* ledger.admit(request)
        expect(first.key?.budgetPico).toBe(REQUEST_PICO)
        expect((yield* ledger.extend(extension(request, 11n)))?.key?.budgetPico).toBe(REQUEST_PICO + 40_000n)
        expect((yield* ledger.extend(extension(request, 1_000n)))?.key?.budgetPico).toBe(1_000_000n)
        expect(yield* Effect.flip(ledger.admit(aRequest(customer)))).toEqual(new KeyBudgetExceeded())
        yield* ledger.settle(complete(request, 96n, 11n))
        expect(yield* countsOf(customer)).toMatchObject({ pending: 0n, spentInDay: REQUEST_PICO + 40_000n })
        yield* ledger.admit(aRequest(customer))
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("obeys limits that the cache of the node does not contain", () =>
      Effect.gen(function* () {
        const stale = yield* aCustomer({ usdMicro: 1_000_000n })
        const { ledger } = yield* aNode()
        const before = aRequest(stale)
        yield* ledger.admit(before)
        yield* change(stale, { spend_usd_micro_total: 1 })
        const results = yield* Effect.all(
          HUNDRED.map(() => Effect.either(ledger.admit(aRequest(stale)))),
          unbounded
        )
        expect(results.filter(Either.isRight)).toHaveLength(10)
        // The request that was open when the limit was set does not count.
        yield* ledger.settle(complete(before))
        expect(yield* countsOf(stale)).toMatchObject({ openRequests: 10, spentTotal: 0n })
        yield* change(stale, { spend_usd_micro_total: null })
        yield* ledger.admit(aRequest(stale))
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("obeys a change of its limits from the next request on", () =>
      Effect.gen(function* () {
        const customer = yield* aLimited({ spend_usd_micro_total: 1 })
        const { ledger } = yield* aNode()
        const served = Array.from({ length: 10 }, () => aRequest(customer))
        for (const request of served) yield* ledger.admit(request)
        yield* ledger.settle(complete(served[0] as (typeof served)[0]))
        yield* change(customer, { spend_usd_micro_total: 2 })
        for (let more = 0; more < 5; more++) yield* ledger.admit(aRequest(customer))
        // The limit becomes lower while the budget in the cache of the node is not yet spent.
        yield* change(customer, { spend_usd_micro_total: 0 })
        expect(yield* Effect.flip(ledger.admit(aRequest(customer)))).toEqual(new KeyBudgetExceeded())
        yield* change(customer, { spend_usd_micro_total: 2 })
        for (let more = 0; more < 5; more++) yield* ledger.admit(aRequest(customer))
        expect(yield* Effect.flip(ledger.admit(aRequest(customer)))).toEqual(new KeyBudgetExceeded())
        expect(yield* countsOf(customer)).toMatchObject({ openRequests: 19, spentTotal: REQUEST_PICO })
      })
    )

    it.scoped("extends a stream beyond its budget after all limits are removed", () =>
      Effect.gen(function* () {
        const customer = yield* aLimited({ spend_usd_micro_total: 1 })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        expect((yield* ledger.extend(extension(request, 1_000n)))?.key?.budgetPico).toBe(1_000_000n)
        yield* change(customer, { spend_usd_micro_total: null })
        expect((yield* ledger.extend(extension(request, 1_000n)))?.key?.budgetPico).toBeUndefined()
        yield* change(customer, { spend_usd_micro_total: 1 })
        expect(yield* countsOf(customer)).toMatchObject({ openRequests: 1, pending: 0n })
        expect(yield* Stores.brokenInvariants).toEqual([])
        // The request was open when the key became a limited key again. It counts, because it was admitted with limits.
        yield* ledger.settle(complete(request))
        expect(yield* countsOf(customer)).toMatchObject({ openRequests: 0, spentTotal: REQUEST_PICO })
      })
    )

    it.scoped("extends a running stream only within a budget that was set after its admission", () =>
      Effect.gen(function* () {
        const customer = yield* aLimited({ requests_per_minute: 60 })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* ledger.extend(extension(request, 11n))
        yield* change(customer, { spend_usd_micro_total: 1 })
        expect((yield* ledger.extend(extension(request, 1_000n)))?.key?.budgetPico).toBe(1_000_000n)
        expect(yield* countsOf(customer)).toMatchObject({ openRequests: 1, pending: 1_000_000n })
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("counts requests per minute exactly over two nodes", () =>
      Effect.gen(function* () {
        const customer = yield* aLimited({ requests_per_minute: 60 })
        const nodes = yield* twoNodes
        const results = yield* Effect.all(
          nodes.flatMap(({ ledger }) => HUNDRED.map(() => Effect.either(ledger.admit(aRequest(customer))))),
          unbounded
        )
        expect(results.filter(Either.isRight)).toHaveLength(60)
        const refusal = results.find(Either.isLeft)?.left
        expect(refusal).toBeInstanceOf(KeyRateLimited)
        expect(refusal).toMatchObject({ limit: "requests", requests: { limit: 60, remaining: 0 } })
      })
    )

    it.scoped("counts tokens per minute exactly over two nodes", () =>
      Effect.gen(function* () {
        // Each request sets 97 tokens aside.
        const customer = yield* aLimited({ tokens_per_minute: 97 * 40 })
        const nodes = yield* twoNodes
        const results = yield* Effect.all(
          nodes.flatMap(({ ledger }) =>
            HUNDRED.map(() => {
              const request = aRequest(customer)
              return Effect.map(Effect.either(ledger.admit(request)), (admitted) => ({ admitted, request, ledger }))
            })
          ),
          unbounded
        )
        const admitted = results.filter(({ admitted }) => Either.isRight(admitted))
        expect(admitted).toHaveLength(40)
        // A request without a charge no longer counts in the tokens of the rate window.
        yield* Effect.all(
          admitted.slice(0, 30).map(({ ledger, request }) => ledger.settle(failed(request))),
          unbounded
        )
        expect(yield* countsOf(customer)).toMatchObject({ tokens: 970n, requests: 40 })
        yield* nodes[0].ledger.admit(aRequest(customer))
      })
    )

    it.scoped("limits concurrent requests on two nodes", () =>
      Effect.gen(function* () {
        const customer = yield* aLimited({ concurrent_requests: 3 })
        const [{ ledger: a }, { ledger: b }] = yield* twoNodes
        const request = aRequest(customer)
        yield* a.admit(request)
        yield* b.admit(aRequest(customer))
        yield* a.admit(aRequest(customer))
        expect(yield* Effect.flip(b.admit(aRequest(customer)))).toMatchObject({
          _tag: "KeyRateLimited",
          limit: "concurrent"
        })
        yield* a.settle(failed(request))
        yield* b.admit(aRequest(customer))
      })
    )

    it.scoped("is refused after its expiry", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1_000_000n })
        const { ledger } = yield* aNode()
        yield* ledger.admit(aRequest(customer))
        yield* change(customer, { expires_at: "2026-01-01T00:00:00Z" })
        expect(yield* Effect.flip(ledger.admit(aRequest(customer)))).toEqual(new InvalidApiKey({ reason: "unknown" }))
        yield* change(customer, { expires_at: null })
        yield* ledger.admit(aRequest(customer))
      })
    )

    it.scoped("regains the unused budget when a sweep settles its requests", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aLimited({ spend_usd_micro_total: 1, concurrent_requests: 1 })
        const { ledger } = yield* aNode()
        yield* ledger.admit(aRequest(customer))
        yield* sql`UPDATE gateway_node SET left_at = clock_timestamp()`
        expect(yield* (yield* OpenHolds).sweep).toBeGreaterThanOrEqual(1)
        expect(yield* countsOf(customer)).toMatchObject({ openRequests: 0, pending: 0n, spentTotal: 0n })
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("is not charged for a request that a sweep settled while its node was alive", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aLimited({ spend_usd_micro_total: 100 })
        const { ledger } = yield* aNode()
        const swept = aRequest(customer)
        yield* ledger.admit(swept)
        yield* sql`UPDATE gateway_node SET left_at = clock_timestamp()`
        expect(yield* (yield* OpenHolds).sweep).toBeGreaterThanOrEqual(1)
        yield* sql`UPDATE gateway_node SET left_at = NULL`
        // After these requests, the node has cached the hold of the settled request, and counts without this hold.
        for (let served = 0; served < 10; served++) {
          const request = aRequest(customer)
          yield* ledger.admit(request)
          yield* ledger.settle(complete(request))
        }
        expect(yield* ledger.settle(complete(swept))).toBeUndefined()
        const spentTotal = 10n * REQUEST_PICO
        expect(yield* countsOf(customer)).toMatchObject({ openRequests: 0, pending: 0n, spentTotal })
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )
  })
})
