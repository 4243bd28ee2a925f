import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { KeyBudgetExceeded } from "@tollgate/domain/ledger/KeyHold"
import { Effect, Either } from "effect"
import * as Stores from "../../support/Stores.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Cable } from "../client/Cable.ts"
import {
  aCustomer,
  aNode,
  aRequest,
  balancesOf,
  type Customer,
  complete,
  failed,
  journal,
  measured,
  openHolds,
  REQUEST_PICO
} from "./Customers.ts"
import { change, countsOf } from "./LimitedCustomers.ts"

const unbounded = { concurrency: "unbounded" } as const
const HUNDRED = Array.from({ length: 100 })
const aWholeRequest = (customer: Customer, output = 1n) => ({ ...aRequest(customer, 96n, output), streamed: false })

/** Returns the number of tokens that the rankings count for the model of a customer, which other customers use too. */
const countedTokens = ({ model }: Customer) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ tokens: bigint }>`
      SELECT coalesce(sum(tokens), 0)::bigint AS tokens FROM usage_delta WHERE model_id = ${model.id}`
    return row?.tokens ?? 0n
  })

describe("a request that is admitted and settled in one transaction", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped("is charged without a hold", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({ usdMicro: 1n })
        const countedBefore = yield* countedTokens(customer)
        const { ledger } = yield* aNode()
        const request = aWholeRequest(customer, 100n)
        expect(yield* ledger.admitAndSettle(complete(request))).toEqual({
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
        expect(yield* openHolds).toBe(0n)
        expect(yield* countedTokens(customer)).toBe(countedBefore + 97n)
        expect(
          yield* sql`SELECT user_id, api_key_id, model_id, price_id, protocol, streamed, ending, charged_input,
          consumed_output, plan_account, ttft_millis, duration_millis,
          held_at BETWEEN clock_timestamp() - interval '20 seconds' AND settled_at AS held_before
          FROM settlement WHERE request_id = ${request.requestId}`
        ).toEqual([
          {
            user_id: customer.user.id,
            api_key_id: customer.principal.keyId,
            model_id: customer.model.id,
            price_id: customer.model.priceId,
            protocol: "chat",
            streamed: false,
            ending: "complete",
            charged_input: 96n,
            consumed_output: 1n,
            plan_account: null,
            ttft_millis: 12,
            duration_millis: 345,
            held_before: true
          }
        ])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("shares its transaction with other requests of the same balances", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 100n, planTokens: 1_000n })
        const countedBefore = yield* countedTokens(customer)
        const { ledger } = yield* aNode()
        const others = HUNDRED.map(() => aRequest(customer))
        yield* Effect.all(
          [
            ...HUNDRED.map(() => ledger.admitAndSettle(complete(aWholeRequest(customer)))),
            ...others.map((request) => ledger.admit(request))
          ],
          unbounded
        )
        yield* Effect.all(
          [
            ...others.map((request) => ledger.settle(complete(request))),
            ...HUNDRED.map(() => ledger.admitAndSettle(complete(aWholeRequest(customer))))
          ],
          unbounded
        )
        expect((yield* journal(customer)).size).toBe(300)
        expect((yield* balancesOf(customer)).plan).toEqual([0n, 0n])
        expect(yield* openHolds).toBe(0n)
        expect(yield* countedTokens(customer)).toBe(countedBefore + 29_100n)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("is admitted only as far as the balance suffices on two nodes", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const nodes = yield* Effect.all([aNode({ batchSize: 3 }), aNode({ batchSize: 3 })])
        const outcomes = yield* Effect.all(
          nodes.flatMap(({ ledger }) =>
            HUNDRED.map(() => Effect.either(ledger.admitAndSettle(complete(aWholeRequest(customer)))))
          ),
          unbounded
        )
        expect(outcomes.filter(Either.isRight)).toHaveLength(10)
        expect(outcomes.find(Either.isLeft)).toEqual(Either.left(new InsufficientBalance()))
        expect((yield* balancesOf(customer)).payg).toEqual([0n, 0n])
        expect((yield* journal(customer)).size).toBe(10)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("costs nothing if it has failed", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const request = aWholeRequest(customer)
        yield* ledger.admitAndSettle(failed(request))
        expect((yield* balancesOf(customer)).payg).toEqual([1_000_000n, 0n])
        expect(yield* journal(customer)).toEqual(new Map([[request.requestId, "failed"]]))
      })
    )

    it.scoped("is refused and not charged if its API key was revoked", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 100n })
        const { ledger } = yield* aNode()
        yield* ledger.admitAndSettle(complete(aWholeRequest(customer)))
        yield* (yield* ApiKeys).revoke(customer.principal.keyId, Stores.operator)
        expect(yield* Effect.flip(ledger.admitAndSettle(complete(aWholeRequest(customer))))).toEqual(
          new InvalidApiKey({ reason: "unknown" })
        )
        expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - REQUEST_PICO, 0n])
      })
    )

    it.scoped("counts for limits of its key that the node does not know yet", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1_000_000n })
        const { ledger } = yield* aNode()
        yield* ledger.admitAndSettle(complete(aWholeRequest(customer)))
        yield* change(customer, { spend_usd_micro_total: 1 })
        const outcomes = yield* Effect.forEach(HUNDRED, () =>
          Effect.either(ledger.admitAndSettle(complete(aWholeRequest(customer))))
        )
        expect(outcomes.filter(Either.isRight)).toHaveLength(10)
        expect(outcomes[10]).toEqual(Either.left(new KeyBudgetExceeded()))
        expect(yield* countsOf(customer)).toMatchObject({
          openRequests: 0,
          pending: 0n,
          spentTotal: 10n * REQUEST_PICO
        })
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    // commit lost: Postgres does not receive the commit. response lost: Postgres commits, but its response is lost.
    for (const fault of ["commit lost", "response lost"] as const) {
      it.scoped(`is charged once (${fault})`, () =>
        Effect.gen(function* () {
          const customer = yield* aCustomer({ usdMicro: 1n })
          const cable = yield* Cable.scoped((yield* TestDatabase).settings)
          const { ledger } = yield* aNode({}, cable.settings)
          yield* ledger.admitAndSettle(complete(aWholeRequest(customer)))
          void cable.atNextCommit(fault)
          const settled = yield* Effect.all(
            Array.from({ length: 9 }, () => ledger.admitAndSettle(complete(aWholeRequest(customer)))),
            unbounded
          )
          expect(settled.map((each) => each?.settlement.paygPico)).toEqual(
            Array.from({ length: 9 }, () => REQUEST_PICO)
          )
          expect((yield* balancesOf(customer)).payg).toEqual([0n, 0n])
          expect((yield* journal(customer)).size).toBe(10)
          expect(yield* Stores.brokenInvariants).toEqual([])
        })
      )
    }
  })
})
