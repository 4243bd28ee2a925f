import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { type Hold, InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { Effect, Either, Layer } from "effect"
import * as Stores from "../../support/Stores.ts"
import {
  aCustomer,
  aNode,
  aRequest,
  balancesOf,
  type Customer,
  complete,
  extension,
  failed,
  mint,
  REQUEST_PICO
} from "./Customers.ts"

const unbounded = { concurrency: "unbounded" } as const

const hold = (planTokens: bigint, paygPico: bigint) => ({ planTokens, paygPico }) as Hold

const credit = ({ user }: Customer, usdMicro: bigint) =>
  Effect.flatMap(PaygAccounts, (accounts) =>
    accounts.credit({
      email: user.email,
      amount: UsdMicro(usdMicro),
      operationId: OperationId.make(`${usdMicro} more for ${user.email}`),
      operator: Stores.operator
    })
  )

/** Grows a hold directly in the database. The hold in the cache of the ledger is then stale. */
const growElsewhere = ({ user }: Customer, { requestId }: Admission, byPico: bigint) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(
      Effect.zipRight(
        sql`UPDATE open_request SET payg_pico = payg_pico + ${byPico} WHERE request_id = ${requestId}`,
        sql`UPDATE account SET debits_pending = debits_pending + ${byPico} WHERE kind = 'payg' AND user_id = ${user.id}`
      )
    )
  })

describe("the inference ledger", () => {
  layer(Layer.provideMerge(PgOpenHolds.layer(), Stores.layer), { excludeTestServices: true })((it) => {
    it.scoped("sets aside the whole balance if the estimate is larger", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n, planTokens: 10n })
        const { ledger } = yield* aNode()
        expect(yield* ledger.admit(aRequest(customer))).toEqual(hold(10n, 90_000n))
        expect(yield* ledger.admit(aRequest(customer, 96n, 1_000n))).toEqual(hold(0n, 910_000n))
      })
    )

    it.scoped("admits one of 25 requests whose unsized content exceeds the balance", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const [one, two] = [(yield* aNode()).ledger, (yield* aNode()).ledger]
        const unsized = (request: Admission): Admission => ({
          ...request,
          estimate: { ...request.estimate, unsizedInput: Tokens(200_000n) }
        })
        const ordinary = aRequest(customer)
        yield* one.admit(ordinary)
        expect(yield* Effect.flip(two.admit(unsized(aRequest(customer))))).toBeInstanceOf(InsufficientBalance)
        yield* one.settle(failed(ordinary))
        const results = yield* Effect.all(
          Array.from({ length: 25 }, (_, i) => (i % 2 === 0 ? one : two).admit(unsized(aRequest(customer)))).map(
            Effect.either
          ),
          unbounded
        )
        const holds = results.filter(Either.isRight).map(({ right }) => right)
        expect(holds).toEqual([hold(0n, 1_000_000n)])
        for (const { left } of results.filter(Either.isLeft)) expect(left).toBeInstanceOf(InsufficientBalance)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("grows a hold to cover the usage of an extension", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        expect(yield* ledger.extend(extension(request, 50n))).toEqual(hold(0n, 296_000n))
        expect(yield* ledger.extend(extension(request, 100n))).toEqual(hold(0n, 496_000n))
        expect(yield* ledger.extend(extension(request, 10n))).toEqual(hold(0n, 496_000n))
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 496_000n])
        expect(yield* Stores.brokenInvariants).toEqual([])
        yield* ledger.settle(complete(request, 96n, 60n))
        expect((yield* balancesOf(customer)).payg).toEqual([664_000n, 0n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("grows a hold until the balance is used up", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const [one, other] = [aRequest(customer), aRequest(customer)]
        yield* Effect.all([ledger.admit(one), ledger.admit(other)])
        expect(yield* ledger.extend(extension(one, 1_000n))).toEqual(hold(0n, 900_000n))
        expect(yield* ledger.extend(extension(one, 1_000n))).toEqual(hold(0n, 900_000n))
        expect(yield* ledger.extend(extension(other, 2n))).toEqual(hold(0n, REQUEST_PICO))
        expect(yield* Effect.flip(ledger.admit(aRequest(customer)))).toEqual(new InsufficientBalance())
        yield* credit(customer, 4n)
        expect(yield* ledger.extend(extension(one, 1_000n))).toEqual(hold(0n, 4_096_000n))
        expect(yield* ledger.extend(extension(other, 2n))).toEqual(hold(0n, 104_000n))
        expect(yield* Stores.brokenInvariants).toEqual([])
        yield* Effect.all([ledger.settle(complete(one, 96n, 1_000n)), ledger.settle(failed(other))])
        expect((yield* balancesOf(customer)).payg).toEqual([904_000n, 0n])
      })
    )

    it.scoped("grows the hold of a whole response in part only if it is the only hold", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const [one, two] = [(yield* aNode()).ledger, (yield* aNode()).ledger]
        const [whole, other] = [{ ...aRequest(customer), streamed: false }, aRequest(customer)]
        yield* Effect.all([one.admit(whole), two.admit(other)])
        expect(yield* one.extend(extension(whole, 2n))).toEqual(hold(0n, 104_000n))
        expect(yield* one.extend(extension(whole, 1_000n))).toEqual(hold(0n, 104_000n))
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 204_000n])
        yield* two.settle(failed(other))
        expect(yield* one.extend(extension(whole, 1_000n))).toEqual(hold(0n, 1_000_000n))
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("grows a hold by a plan minted during the request", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* mint(customer, 100n)
        // The plan covers 96 input tokens and 4 output tokens. The pay-as-you-go balance covers 46 output tokens.
        expect(yield* ledger.extend(extension(request, 50n))).toEqual(hold(100n, 184_000n))
        expect(yield* balancesOf(customer)).toEqual({ plan: [100n, 100n], payg: [1_000_000n, 184_000n] })
        expect(yield* Stores.brokenInvariants).toEqual([])
        yield* ledger.settle(complete(request, 96n, 50n))
        expect(yield* balancesOf(customer)).toEqual({ plan: [0n, 0n], payg: [816_000n, 0n] })
      })
    )

    it.scoped("grows a hold by a first credit during the request", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ planTokens: 97n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* credit(customer, 1n)
        expect(yield* ledger.extend(extension(request, 11n))).toEqual(hold(97n, 40_000n))
        expect(yield* Stores.brokenInvariants).toEqual([])
        yield* ledger.settle(failed(request))
        expect(yield* balancesOf(customer)).toEqual({ plan: [97n, 0n], payg: [1_000_000n, 0n] })
      })
    )

    it.scoped("decides three concurrent extensions of one request in their order", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        // The first extension is decided alone. The other two wait meanwhile and share the next transaction.
        const outputs = [40n, 50n, 30n]
        expect(
          yield* Effect.all(
            outputs.map((output) => ledger.extend(extension(request, output))),
            unbounded
          )
        ).toEqual([hold(0n, 256_000n), hold(0n, 296_000n), hold(0n, 296_000n)])
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 296_000n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("extends a hold before it admits requests of the same transaction", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        const [refusal, grown] = yield* Effect.all(
          [Effect.flip(ledger.admit(aRequest(customer))), ledger.extend(extension(request, 226n))],
          unbounded
        )
        expect([refusal, grown]).toEqual([new InsufficientBalance(), hold(0n, 1_000_000n)])
      })
    )

    it.scoped("does not extend the hold of a settled request", () =>
      Effect.gen(function* () {
        const { sweep } = yield* OpenHolds
        const customer = yield* aCustomer({ usdMicro: 1n })
        const [{ ledger, nodes }, { ledger: another }] = yield* Effect.all([aNode(), aNode()])
        const [own, foreign, same, swept] = [
          aRequest(customer),
          aRequest(customer),
          aRequest(customer),
          aRequest(customer)
        ]
        yield* Effect.all([own, foreign, same, swept].map(ledger.admit), unbounded)
        yield* ledger.settle(failed(own))
        expect(yield* ledger.extend(extension(own, 9n))).toBeUndefined()
        yield* another.settle(failed(foreign))
        expect(yield* ledger.extend(extension(foreign, 9n))).toBeUndefined()
        const [extended] = yield* Effect.all(
          [ledger.extend(extension(same, 9n)), ledger.settle(failed(same))],
          unbounded
        )
        expect(extended).toBeUndefined()
        yield* nodes.leave
        yield* sweep
        expect(yield* ledger.extend(extension(swept, 9n))).toBeUndefined()
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 0n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("extends holds on two nodes up to the shared balance", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 10n })
        const nodes = yield* Effect.all([aNode({ batchSize: 3 }), aNode({ batchSize: 3 })])
        const running = nodes.flatMap(({ ledger }) =>
          Array.from({ length: 8 }, () => ({ ledger, request: aRequest(customer) }))
        )
        yield* Effect.all(
          running.map(({ ledger, request }) => ledger.admit(request)),
          unbounded
        )
        const holds = yield* Effect.all(
          [100n, 200n, 400n].flatMap((output) =>
            running.map(({ ledger, request }) => ledger.extend(extension(request, output)))
          ),
          unbounded
        )
        const last: ReadonlyArray<bigint> = holds.slice(-running.length).map((found) => found?.paygPico ?? 0n)
        expect(last.reduce((sum, pico) => sum + pico)).toBeLessThanOrEqual(10_000_000n)
        expect((yield* balancesOf(customer)).payg).toEqual([10_000_000n, 10_000_000n])
        expect(yield* Stores.brokenInvariants).toEqual([])
        yield* Effect.all(
          running.map(({ ledger, request }) => ledger.settle(failed(request))),
          unbounded
        )
        expect((yield* balancesOf(customer)).payg).toEqual([10_000_000n, 0n])
      })
    )

    it.scoped("uses the stored hold when the cached hold is stale", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 10n })
        const { ledger } = yield* aNode()
        const [one, other] = [aRequest(customer), aRequest(customer)]
        yield* Effect.all([ledger.admit(one), ledger.admit(other)])
        yield* growElsewhere(customer, one, 200_000n)
        yield* growElsewhere(customer, other, 200_000n)
        // After these transactions, the cache has the current balances and the old holds.
        yield* Effect.forEach(Array.from({ length: 9 }), () => {
          const request = aRequest(customer)
          return Effect.zipRight(ledger.admit(request), ledger.settle(failed(request)))
        })
        expect(ledger.isAmple(aRequest(customer, 50n, 1n))).toBe(true)
        expect(yield* ledger.extend(extension(one, 100n))).toEqual(hold(0n, 496_000n))
        yield* Effect.forEach(Array.from({ length: 9 }), () => {
          const request = aRequest(customer)
          return Effect.zipRight(ledger.admit(request), ledger.settle(failed(request)))
        })
        yield* ledger.settle(complete(other))
        expect((yield* balancesOf(customer)).payg).toEqual([9_900_000n, 496_000n])
        yield* ledger.settle(failed(one))
        expect((yield* balancesOf(customer)).payg).toEqual([9_900_000n, 0n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("considers a balance ample if it is 100 times the hold", () =>
      Effect.gen(function* () {
        const [ample, scarce] = [yield* aCustomer({ usdMicro: 11n }), yield* aCustomer({ usdMicro: 9n })]
        const subscriber = yield* aCustomer({ planTokens: 9_800n })
        const { ledger } = yield* aNode()
        const areAmple = () => [ample, scarce, subscriber].map((customer) => ledger.isAmple(aRequest(customer)))
        expect(areAmple()).toEqual([false, false, false])
        yield* Effect.all(
          [ample, scarce, subscriber].map((customer) => ledger.admit(aRequest(customer))),
          unbounded
        )
        expect(areAmple()).toEqual([true, false, true])
        const model = yield* Stores.aModel("other")
        expect(ledger.isAmple(aRequest({ ...ample, model }))).toBe(false)
        yield* ledger.admit(aRequest(ample, 0n, 230n))
        expect(areAmple()).toEqual([false, false, true])
      })
    )

    it.scoped("still considers a balance ample after a credit by another session", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 100n })
        const { ledger } = yield* aNode()
        yield* ledger.admit(aRequest(customer))
        yield* credit(customer, 1n)
        expect(ledger.isAmple(aRequest(customer))).toBe(true)
        yield* ledger.admit(aRequest(customer))
        expect(ledger.isAmple(aRequest(customer))).toBe(true)
      })
    )
  })
})
