import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgBalanceWatch from "@tollgate/adapters-postgres/webhook/PgBalanceWatch"
import { Customers } from "@tollgate/application/customer/Customers"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { BalanceWatch } from "@tollgate/application/webhook/WebhookDeliveries"
import { WebhookEndpoints } from "@tollgate/application/webhook/WebhookEndpoints"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { BalanceThresholds, WebhookEndpointId } from "@tollgate/domain/webhook/WebhookEndpoint"
import { Context, Duration, Effect, Layer } from "effect"
import * as Programme from "../../support/Programme.ts"
import { aModel, operator } from "../../support/Stores.ts"
import { anEndpoint, eventsFor } from "./Endpoints.ts"

const { aCustomer, adjust, anOperation, anotherNode, aReseller, grant } = Programme

const watched = Layer.provideMerge(PgBalanceWatch.layer, Programme.layer)

/** Runs a round immediately, without the usual interval since the previous round. */
const round = Effect.flatMap(BalanceWatch, (watch) => watch.round(Duration.zero))

const none: BalanceThresholds = { quotaUsdMicro: undefined, paygUsdMicro: undefined, planTokens: undefined }

/** Creates an endpoint, and runs a round that records the balances that are already low. */
const aWatch = (owner: ResellerId | undefined, thresholds: Partial<BalanceThresholds> = {}) =>
  Effect.gen(function* () {
    const events = ["balance.low", "plan.exhausted"] as const
    const { endpoint } = yield* anEndpoint(owner, { events, thresholds: { ...none, ...thresholds } })
    yield* round
    return endpoint.id
  })

/** Debits an account as settlements do. */
const spend = (kind: "payg" | "plan", userId: string, amount: bigint) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`UPDATE account SET debits_posted = debits_posted + ${amount} WHERE kind = ${kind} AND user_id = ${userId}`
  ).pipe(Effect.orDie)

const creditPayg = (email: Parameters<typeof aCustomer>[1] & string, usdMicro: bigint) =>
  Effect.flatMap(PaygAccounts, (accounts) =>
    accounts.credit({ email, amount: UsdMicro(usdMicro), operationId: anOperation(), operator })
  ).pipe(Effect.orDie)

/** Runs a round, and returns the number of events for the endpoint so far. */
const eventsAfterRound = (id: WebhookEndpointId) =>
  Effect.gen(function* () {
    yield* round
    return (yield* eventsFor(id)).length
  })

const deleteEndpoints = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`DELETE FROM webhook_endpoint`).pipe(
  Effect.orDie
)

describe("the balance watch", () => {
  layer(watched, { excludeTestServices: true })((it) => {
    it.effect("reports a quota once when it falls below the threshold", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const { id: resellerId } = yield* aReseller(10_000_000n)
        const other = yield* aReseller(10_000_000n)
        const own = yield* aWatch(resellerId, { quotaUsdMicro: 5_000_000n })
        const operators = yield* aWatch(undefined, { quotaUsdMicro: 5_000_000n })
        expect(yield* eventsAfterRound(own)).toBe(0)
        yield* adjust(resellerId, -5_000_000n)
        expect(yield* eventsAfterRound(own)).toBe(0)
        yield* adjust(resellerId, -1n)
        yield* adjust(resellerId, -1_000_000n)
        const low = (remaining: string, reseller_id: string) => ({
          type: "balance.low",
          data: {
            balance: "reseller_quota",
            reseller_id,
            remaining_usd_micro: remaining,
            threshold_usd_micro: "5000000"
          }
        })
        yield* round
        expect(yield* eventsFor(own)).toEqual([low("3999999", resellerId)])
        expect(yield* eventsFor(operators)).toEqual([low("3999999", resellerId)])
        yield* adjust(resellerId, -1_000_000n)
        expect(yield* eventsAfterRound(own)).toBe(1)
        yield* adjust(resellerId, 2_000_001n)
        expect(yield* eventsAfterRound(own)).toBe(1)
        yield* adjust(resellerId, -1n)
        yield* adjust(other.id, -6_000_000n)
        expect(yield* eventsAfterRound(own)).toBe(2)
        expect(yield* eventsFor(operators)).toHaveLength(3)
      }).pipe(Effect.orDie)
    )

    it.effect("reports low balances of customers to their own reseller", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const model = yield* aModel("watched")
        const [reseller, other] = [yield* aReseller(), yield* aReseller()]
        const [customer, others] = [yield* aCustomer(reseller.id), yield* aCustomer(other.id)]
        for (const { email, userId } of [customer, others]) {
          yield* creditPayg(email, 2_000_000n)
          yield* grant(userId, model.id, 1_000n)
        }
        const thresholds = { paygUsdMicro: 1_000_000n, planTokens: 100n }
        const own = yield* aWatch(reseller.id, thresholds)
        const operators = yield* aWatch(undefined, thresholds)
        for (const { userId } of [customer, others]) {
          yield* spend("payg", userId, 1_000_000_000_001n)
          yield* spend("plan", userId, 901n)
        }
        yield* round
        const user_id = customer.userId
        const payg = { balance: "payg", user_id, remaining_usd_micro: "999999", threshold_usd_micro: "1000000" }
        const plan = { balance: "plan", user_id, model: "watched", remaining_tokens: "99", threshold_tokens: "100" }
        const found = yield* eventsFor(own)
        expect(found).toHaveLength(2)
        expect(found).toEqual(
          expect.arrayContaining([
            { type: "balance.low", data: payg },
            { type: "balance.low", data: { ...plan, purchased_tokens: "1000" } }
          ])
        )
        expect(yield* eventsFor(operators)).toHaveLength(4)
        yield* spend("plan", user_id, 99n)
        yield* round
        expect((yield* eventsFor(own)).at(-1)).toEqual({
          type: "plan.exhausted",
          data: { user_id, model: "watched", purchased_tokens: "1000" }
        })
        expect(yield* eventsAfterRound(own)).toBe(3)
        yield* grant(user_id, model.id, 1n)
        expect(yield* eventsAfterRound(own)).toBe(3)
        yield* spend("plan", user_id, 1n)
        expect(yield* eventsAfterRound(own)).toBe(4)
      }).pipe(Effect.orDie)
    )

    it.effect("reports no balance before its credits reach the threshold", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const { id: resellerId } = yield* aReseller()
        const [poor, poorer] = [yield* aCustomer(resellerId), yield* aCustomer(resellerId)]
        yield* creditPayg(poor.email, 1_000_000n)
        const own = yield* aWatch(resellerId, { quotaUsdMicro: 1n, paygUsdMicro: 2_000_000n })
        yield* creditPayg(poorer.email, 1_999_999n)
        expect(yield* eventsAfterRound(own)).toBe(0)
        yield* creditPayg(poor.email, 1_000_000n)
        expect(yield* eventsAfterRound(own)).toBe(0)
        yield* spend("payg", poor.userId, 1n)
        expect(yield* eventsAfterRound(own)).toBe(1)
        yield* (yield* WebhookEndpoints).change(
          resellerId,
          own,
          { thresholds: { payg_usd_micro: 3_000_000 } },
          operator
        )
        expect(yield* eventsAfterRound(own)).toBe(1)
      }).pipe(Effect.orDie)
    )

    it.effect("reports no balance that was low when its customer was linked", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const model = yield* aModel("linked")
        const [first, second] = [yield* aReseller(), yield* aReseller()]
        const { email, userId } = yield* aCustomer(first.id)
        yield* creditPayg(email, 2_000_000n)
        yield* grant(userId, model.id, 1_000n)
        yield* spend("payg", userId, 1_500_000_000_000n)
        yield* spend("plan", userId, 1_000n)
        const own = yield* aWatch(second.id, { paygUsdMicro: 1_000_000n, planTokens: 100n })
        yield* (yield* Customers).link(second.id, email, operator)
        expect(yield* eventsAfterRound(own)).toBe(0)
        yield* creditPayg(email, 1_000_000n)
        expect(yield* eventsAfterRound(own)).toBe(0)
        yield* spend("payg", userId, 1_000_000_000_000n)
        expect(yield* eventsAfterRound(own)).toBe(1)
      }).pipe(Effect.orDie)
    )

    it.effect("writes one event if two nodes run their rounds concurrently", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const sql = yield* SqlClient.SqlClient
        const { id: resellerId } = yield* aReseller(10_000_000n)
        const own = yield* aWatch(resellerId, { quotaUsdMicro: 5_000_000n })
        yield* adjust(resellerId, -6_000_000n)
        const other = Context.get(
          yield* Effect.flatMap(anotherNode, (node) =>
            Layer.build(Layer.provide(PgBalanceWatch.layer, Layer.succeedContext(node)))
          ),
          BalanceWatch
        )
        const rounds = Array.from({ length: 6 }, (_, i) => (i % 2 === 0 ? round : other.round(Duration.zero)))
        const counts = yield* Effect.all(rounds, { concurrency: "unbounded" })
        yield* round
        expect(counts.reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual(1)
        expect(yield* eventsFor(own)).toHaveLength(1)

        yield* adjust(resellerId, 6_000_000n)
        yield* round
        yield* adjust(resellerId, -6_000_000n)
        expect(yield* other.round(Duration.hours(1))).toBe(0)
        yield* sql`UPDATE webhook_watch SET checked_at = now() - interval '54 minutes'`
        expect(yield* other.round(Duration.hours(1))).toBe(1)
      }).pipe(Effect.scoped, Effect.orDie)
    )

    it.effect("writes nothing while no endpoint watches a balance", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const sql = yield* SqlClient.SqlClient
        const { id: resellerId } = yield* aReseller(10_000_000n)
        yield* anEndpoint(resellerId, { events: ["balance.low"] })
        yield* anEndpoint(resellerId, {
          events: ["topup.credited"],
          thresholds: { ...none, quotaUsdMicro: 20_000_000n }
        })
        yield* anEndpoint(resellerId, { events: ["plan.exhausted"], enabled: false })
        yield* sql`UPDATE webhook_watch SET checked_at = 'epoch'`
        expect(yield* round).toBe(0)
        expect(yield* sql`SELECT checked_at FROM webhook_watch`).toEqual([{ checked_at: new Date(0) }])
      }).pipe(Effect.orDie)
    )
  })
})
