import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { Effect, Either } from "effect"
import * as Stores from "../../support/Stores.ts"
import {
  aCustomer,
  aNode,
  aRequest,
  aRequestId,
  balancesOf,
  type Customer,
  complete,
  failed,
  journal,
  lockWaits,
  measured,
  mint,
  REQUEST_PICO
} from "./Customers.ts"

/** Credits one micro-USD, the cost of ten requests. */
const credit = ({ user }: Customer) =>
  Effect.flatMap(PaygAccounts, (accounts) =>
    accounts.credit({
      email: user.email,
      amount: UsdMicro(1n),
      operationId: OperationId.make(`more for ${user.email}`),
      operator: Stores.operator
    })
  )

const unbounded = { concurrency: "unbounded" } as const
const HUNDRED = Array.from({ length: 100 })

describe("the inference ledger", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped("admits ten of two hundred requests when the balance covers ten", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const outcomes = yield* Effect.all(
          [...HUNDRED, ...HUNDRED].map(() => Effect.either(ledger.admit(aRequest(customer)))),
          unbounded
        )
        expect(outcomes.filter(Either.isRight)).toHaveLength(10)
        expect(outcomes.find(Either.isLeft)).toEqual(Either.left(new InsufficientBalance()))
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 1_000_000n])
      })
    )

    it.scoped("admits exactly ten requests on two nodes that share the balance", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const nodes = yield* Effect.all([aNode({ batchSize: 3 }), aNode({ batchSize: 3 })])
        const outcomes = yield* Effect.all(
          nodes.flatMap(({ ledger }) => HUNDRED.map(() => Effect.either(ledger.admit(aRequest(customer))))),
          unbounded
        )
        expect(outcomes.filter(Either.isRight)).toHaveLength(10)
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 1_000_000n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("releases the rest of a hold after the charge", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer, 96n, 100n)
        yield* ledger.admit(request)
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 496_000n])
        expect(yield* ledger.settle(complete(request))).toEqual({
          measured: measured("complete"),
          settlement: {
            costPico: REQUEST_PICO,
            planTokens: 0n,
            planValuePico: 0n,
            paygPico: REQUEST_PICO,
            writeoffPico: 0n
          }
        })
        expect((yield* balancesOf(customer)).payg).toEqual([900_000n, 0n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("writes the measured usage to the journal", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* ledger.settle({
          admission: request,
          measure: () => ({ ...measured("client_gone", 30n, 7n), ttftMillis: undefined })
        })
        expect(
          yield* sql`SELECT user_id, api_key_id, model_id, price_id, protocol, streamed, ending, usage_source,
          charged_input, charged_output, consumed_input, consumed_output, ttft_millis, duration_millis,
          held_at BETWEEN clock_timestamp() - interval '20 seconds' AND settled_at AS held_before
          FROM settlement WHERE request_id = ${request.requestId}`
        ).toEqual([
          {
            user_id: customer.user.id,
            api_key_id: customer.principal.keyId,
            model_id: customer.model.id,
            price_id: customer.model.priceId,
            protocol: "chat",
            streamed: true,
            ending: "client_gone",
            usage_source: "upstream",
            charged_input: 30n,
            charged_output: 7n,
            consumed_input: 30n,
            consumed_output: 7n,
            ttft_millis: null,
            duration_millis: 345,
            held_before: true
          }
        ])
      })
    )

    it.scoped("debits the plan first and then the pay-as-you-go balance", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n, planTokens: 100n })
        const { ledger } = yield* aNode()
        const [first, second] = [aRequest(customer, 150n, 10n), aRequest(customer, 10n, 1n)]
        yield* ledger.admit(first)
        expect(yield* balancesOf(customer)).toEqual({ plan: [100n, 100n], payg: [1_000_000n, 90_000n] })
        expect((yield* ledger.settle(complete(first, 150n, 10n)))?.settlement).toEqual({
          costPico: 190_000n,
          planTokens: 100n,
          planValuePico: 100_000n,
          paygPico: 90_000n,
          writeoffPico: 0n
        })
        yield* ledger.admit(second)
        expect((yield* ledger.settle(complete(second, 10n, 1_000n)))?.settlement).toMatchObject({
          costPico: 4_010_000n,
          paygPico: 910_000n,
          writeoffPico: 3_100_000n
        })
        expect(yield* balancesOf(customer)).toEqual({ plan: [0n, 0n], payg: [0n, 0n] })
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("debits a plan that was minted while the request ran", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* mint(customer, 1_000n)
        expect((yield* ledger.settle(complete(request)))?.settlement).toMatchObject({ planTokens: 97n, paygPico: 0n })
        expect(yield* balancesOf(customer)).toEqual({ plan: [903n, 0n], payg: [1_000_000n, 0n] })
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("debits a credit that was added while the request ran", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* credit(customer)
        expect((yield* ledger.settle(complete(request, 1_500n, 0n)))?.settlement).toMatchObject({
          paygPico: 1_500_000n,
          writeoffPico: 0n
        })
        expect((yield* balancesOf(customer)).payg).toEqual([500_000n, 0n])
      })
    )

    it.scoped("debits a first credit that was added while the request ran", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ planTokens: 97n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        yield* credit(customer)
        expect((yield* ledger.settle(complete(request, 107n, 0n)))?.settlement).toMatchObject({
          planTokens: 97n,
          paygPico: 10_000n,
          writeoffPico: 0n
        })
      })
    )

    it.scoped("admits a refused customer again after a credit", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        yield* Effect.forEach(HUNDRED.slice(0, 10), () => ledger.admit(aRequest(customer)))
        expect(yield* Effect.flip(ledger.admit(aRequest(customer)))).toEqual(new InsufficientBalance())
        yield* credit(customer)
        yield* ledger.admit(aRequest(customer))
      })
    )

    it.scoped("releases the whole hold of a failed request", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n, planTokens: 50n })
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        yield* ledger.admit(request)
        expect((yield* ledger.settle(failed(request)))?.settlement.costPico).toBe(0n)
        expect(yield* balancesOf(customer)).toEqual({ plan: [50n, 0n], payg: [1_000_000n, 0n] })
        expect(yield* journal(customer)).toEqual(new Map([[request.requestId, "failed"]]))
      })
    )

    it.scoped("changes no balance when a node settles a request again", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const [{ ledger }, { ledger: another }] = yield* Effect.all([aNode(), aNode()])
        const request = aRequest(customer)
        yield* ledger.admit(request)
        const outcomes = yield* Effect.all(
          [ledger, another, ledger, another].map((node) => node.settle(complete(request))),
          unbounded
        )
        expect(outcomes.filter((settled) => settled !== undefined)).toHaveLength(1)
        yield* ledger.settleLater(failed(request))
        expect(yield* ledger.settle(complete(request))).toBeUndefined()
        expect((yield* balancesOf(customer)).payg).toEqual([900_000n, 0n])
        expect(yield* journal(customer)).toEqual(new Map([[request.requestId, "complete"]]))
      })
    )

    it.scoped("measures the charge when the settlement is decided", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode({ lockMillis: 5_000 })
        const [before, request] = [aRequest(customer), aRequest(customer)]
        yield* Effect.all([ledger.admit(before), ledger.admit(request)])
        let disconnected = false
        const settlement = { admission: request, measure: () => measured(disconnected ? "failed" : "complete") }
        // The locked account delays the first settlement, which delays the next settlement. Meanwhile the client
        // disconnects.
        const settled = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT id FROM account WHERE user_id = ${customer.user.id} FOR UPDATE`
            yield* Effect.forkScoped(ledger.settle(failed(before)))
            yield* Effect.repeat(lockWaits, { until: (count) => count === 1n })
            const settled = yield* Effect.forkScoped(ledger.settle(settlement))
            yield* Effect.yieldNow()
            disconnected = true
            return settled
          })
        )
        expect((yield* settled.await).pipe((exit) => exit._tag === "Success" && exit.value?.measured.ending)).toBe(
          "failed"
        )
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 0n])
      })
    )

    it.scoped("refuses a revoked key despite cached balances", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        yield* ledger.admit(aRequest(customer))
        yield* (yield* ApiKeys).revoke(customer.principal.keyId, Stores.operator)
        expect(yield* Effect.flip(ledger.admit(aRequest(customer)))).toEqual(new InvalidApiKey({ reason: "unknown" }))
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, REQUEST_PICO])
      })
    )

    it.scoped("refuses the key of a blocked user", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        yield* sql`UPDATE app_user SET status = 'blocked' WHERE id = ${customer.user.id}`
        expect(yield* Effect.flip(ledger.admit(aRequest(customer)))).toEqual(new InvalidApiKey({ reason: "unknown" }))
      })
    )

    it.scoped("refuses a customer without a balance", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({})
        const { ledger } = yield* aNode()
        const request = aRequest(customer)
        expect(yield* Effect.flip(ledger.admit(request))).toEqual(new InsufficientBalance())
        const [free] = [{ ...request, requestId: aRequestId(), price: FREE }]
        yield* ledger.admit(free)
        expect(yield* ledger.settle(failed(free))).toMatchObject({ settlement: { costPico: 0n } })
      })
    )

    it.scoped("saves checkpoints only on the open holds of its own node", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({ usdMicro: 1n })
        const [{ ledger }, { ledger: another }] = yield* Effect.all([aNode(), aNode()])
        const [mine, settled, foreign] = [aRequest(customer), aRequest(customer), aRequest(customer)]
        yield* Effect.all([ledger.admit(mine), ledger.admit(settled), another.admit(foreign)])
        yield* ledger.settle(complete(settled))
        const { charged } = measured("complete", 5n, 3n).charge
        yield* ledger.checkpoint([mine, settled, foreign].map(({ requestId }) => ({ requestId, checkpoint: charged })))
        expect(
          yield* sql`SELECT request_id, checkpoint_input AS input, checkpoint_output AS output
          FROM open_request WHERE user_id = ${customer.user.id} ORDER BY checkpoint_output DESC`
        ).toEqual([
          { request_id: mine.requestId, input: 5n, output: 3n },
          { request_id: foreign.requestId, input: 0n, output: 0n }
        ])
      })
    )

    it.scoped("saves checkpoints without waiting for a hold that is being settled", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const [locked, idle] = [aRequest(customer), aRequest(customer)]
        yield* Effect.all([ledger.admit(locked), ledger.admit(idle)])
        const { charged } = measured("complete", 5n, 3n).charge
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT FROM open_request WHERE request_id = ${locked.requestId} FOR UPDATE`
            yield* ledger.checkpoint([locked, idle].map(({ requestId }) => ({ requestId, checkpoint: charged })))
          })
        )
        expect(
          yield* sql`SELECT request_id FROM open_request WHERE checkpoint_output = 3 AND user_id = ${customer.user.id}`
        ).toEqual([{ request_id: idle.requestId }])
      })
    )

    it.scoped("keeps the hold of a settlement that the database rejects", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 100n })
        const { ledger } = yield* aNode()
        const requests = Array.from({ length: 51 }, () => aRequest(customer))
        yield* Effect.all(requests.map(ledger.admit), unbounded)
        const exits = yield* Effect.all(
          requests.map((admission, i) =>
            Effect.exit(
              ledger.settle(
                i === 17
                  ? { admission, measure: () => ({ ...measured("complete"), durationMillis: 3_000_000_000 }) }
                  : complete(admission)
              )
            )
          ),
          unbounded
        )
        expect(exits.flatMap((exit, i) => (exit._tag === "Failure" ? [[i, exit.cause._tag]] : []))).toEqual([
          [17, "Die"]
        ])
        expect((yield* journal(customer)).size).toBe(50)
        expect((yield* balancesOf(customer)).payg).toEqual([95_000_000n, REQUEST_PICO])
        expect(yield* Stores.brokenInvariants).toEqual([])
        // The request can be settled later with a valid duration.
        expect(yield* ledger.settle(complete(requests[17] ?? aRequest(customer)))).toBeDefined()
      })
    )

    it.scoped("fails only the admission that the database rejects", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 100n })
        const { ledger } = yield* aNode()
        const exits = yield* Effect.all(
          Array.from({ length: 20 }, (_, i) =>
            Effect.exit(ledger.admit({ ...aRequest(customer), ...(i === 7 ? { protocol: "bogus" as "chat" } : {}) }))
          ),
          unbounded
        )
        expect(exits.flatMap((exit, i) => (exit._tag === "Failure" ? [[i, exit.cause._tag]] : []))).toEqual([
          [7, "Die"]
        ])
        expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n, 19n * REQUEST_PICO])
      })
    )

    it.scoped("writes all queued settlements before it stops", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 100n })
        const requests = HUNDRED.map(() => aRequest(customer))
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { ledger } = yield* aNode({ batchSize: 7 })
            yield* Effect.all(requests.map(ledger.admit), unbounded)
            yield* Effect.all(requests.map((request) => ledger.settleLater(complete(request))))
          })
        )
        expect((yield* journal(customer)).size).toBe(100)
        expect((yield* balancesOf(customer)).payg).toEqual([90_000_000n, 0n])
      })
    )

    it.scoped("keeps the ledger consistent with three queues", () =>
      Effect.gen(function* () {
        const customers = yield* Effect.all(
          Array.from({ length: 8 }, () => aCustomer({ usdMicro: 10n, planTokens: 500n }))
        )
        const { ledger } = yield* aNode({ queues: 3, batchSize: 5 })
        yield* Effect.all(
          customers.flatMap((customer) =>
            Array.from({ length: 12 }, () => {
              const request = aRequest(customer)
              return Effect.zipRight(ledger.admit(request), ledger.settle(complete(request)))
            })
          ),
          unbounded
        )
        for (const customer of customers) {
          expect((yield* journal(customer)).size).toBe(12)
          expect((yield* balancesOf(customer)).plan).toEqual([0n, 0n])
        }
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )
  })
})

const FREE = { input: 0n, cacheWrite: 0n, cacheRead: 0n, output: 0n } as unknown as Parameters<
  typeof aRequest
>[0]["model"]["price"]
