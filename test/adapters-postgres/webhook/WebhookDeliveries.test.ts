import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as KeyMac from "@tollgate/adapters-postgres/customer/KeyMac"
import * as PgWebhookDeliveries from "@tollgate/adapters-postgres/webhook/PgWebhookDeliveries"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { WebhookCounters, WebhookCounts } from "@tollgate/application/webhook/WebhookCounts"
import { WebhookDeliveries, WebhookSender } from "@tollgate/application/webhook/WebhookDeliveries"
import * as WebhookDispatcher from "@tollgate/application/webhook/WebhookDispatcher"
import { WebhookEndpoints } from "@tollgate/application/webhook/WebhookEndpoints"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { CallResult } from "@tollgate/domain/webhook/WebhookDelivery"
import type { WebhookEndpointId } from "@tollgate/domain/webhook/WebhookEndpoint"
import { Context, Duration, Effect, Either, Layer, Logger, Option, Redacted } from "effect"
import * as Programme from "../../support/Programme.ts"
import { operator } from "../../support/Stores.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Cable } from "../client/Cable.ts"
import { anEndpoint, claimed, eventsFor, later } from "./Endpoints.ts"

const { aNodeOf, aReseller, anOrder, anotherNode, audited, credit, paid, recordObservation } = Programme

const OK: CallResult = { _tag: "Responded", status: 200 }
const BROKEN: CallResult = { _tag: "Responded", status: 503 }

const aCreditedOrder = (resellerId: ResellerId) =>
  Effect.gen(function* () {
    const { id } = yield* anOrder(resellerId)
    yield* recordObservation(id, paid)
    return yield* credit(id)
  })

const record = (...[delivery, result, jitter = 0.5]: Partial<Parameters<WebhookDeliveries["Type"]["record"]>>) =>
  Effect.flatMap(WebhookDeliveries, (deliveries) =>
    delivery === undefined || result === undefined
      ? Effect.dieMessage("no delivery was claimed")
      : deliveries.record(delivery, result, jitter)
  )

const statusOf = (resellerId: ResellerId) =>
  Effect.map(
    Effect.flatMap(WebhookDeliveries, ({ page }) => page(resellerId, {}, { limit: 10, after: undefined })),
    (found) => found.map(({ status, attempts, lastResult }) => ({ status, attempts, lastResult }))
  )

/** Deletes the endpoints of earlier tests, so that a claim returns only the deliveries of the current test. */
const deleteEndpoints = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`DELETE FROM webhook_endpoint`).pipe(
  Effect.orDie
)

describe("the outbox", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("contains one event of a credited order", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const reseller = yield* aReseller()
        const other = yield* aReseller()
        const own = yield* anEndpoint(reseller.id)
        const operators = yield* anEndpoint(undefined, { events: ["topup.credited"] })
        const others = yield* anEndpoint(other.id)
        const unsubscribed = yield* anEndpoint(reseller.id, { events: ["plan.exhausted"] })
        const disabled = yield* anEndpoint(reseller.id, { enabled: false })
        const order = yield* aCreditedOrder(reseller.id)
        yield* credit(order.id)
        const event = {
          type: "topup.credited",
          data: {
            reseller_id: reseller.id,
            topup_id: order.id,
            order_number: `RTO-${order.id}`,
            method: "crypto_bep20",
            quota_usd_micro: "10000000",
            credited_at: order.creditedAt?.toISOString(),
            simulated: false
          }
        }
        expect(yield* eventsFor(own.endpoint.id)).toEqual([event])
        expect(yield* eventsFor(operators.endpoint.id)).toEqual([event])
        for (const { endpoint } of [others, unsubscribed, disabled]) expect(yield* eventsFor(endpoint.id)).toEqual([])
        const ids = (yield* claimed()).map(({ event }) => event.id)
        expect([ids.length, new Set(ids).size]).toEqual([2, 1])
      })
    )

    it.effect("contains no event of a change that is rolled back", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const sql = yield* SqlClient.SqlClient
        const events = Effect.map(sql<{ n: number }>`SELECT count(*)::int AS n FROM webhook_event`, ([row]) => row?.n)
        const before = yield* events
        const reseller = yield* aReseller()
        yield* aCreditedOrder(reseller.id)
        expect(yield* events).toBe(before)
        yield* anEndpoint(reseller.id)
        const { id } = yield* anOrder(reseller.id)
        yield* recordObservation(id, paid)
        // With this constraint, the transaction of the credit fails.
        yield* sql`ALTER TABLE topup_order ADD CONSTRAINT no_credit CHECK (credited_at IS NULL) NOT VALID`
        expect((yield* Effect.exit(credit(id)))._tag).toBe("Failure")
        yield* sql`ALTER TABLE topup_order DROP CONSTRAINT no_credit`
        expect(yield* events).toBe(before)
        yield* credit(id)
        expect(yield* events).toBe((before ?? 0) + 1)
      }).pipe(Effect.orDie)
    )

    it.effect("contains no credit of a suspended reseller", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const reseller = yield* aReseller()
        const { endpoint } = yield* anEndpoint(reseller.id)
        const { id } = yield* anOrder(reseller.id)
        yield* recordObservation(id, paid)
        const { review } = yield* Resellers
        yield* review(reseller.id, "suspend", operator)
        yield* review(reseller.id, "suspend", operator)
        yield* credit(id)
        yield* review(reseller.id, "reactivate", operator)
        const data = (decision: string, status_before: string, status: string) => ({
          type: "reseller.reviewed",
          data: { reseller_id: reseller.id, decision, status_before, status }
        })
        expect(yield* eventsFor(endpoint.id)).toEqual([
          data("suspend", "active", "suspended"),
          data("reactivate", "suspended", "active")
        ])
      }).pipe(Effect.orDie)
    )

    it.effect("is emptied of 12,000 events that are older than 30 days", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const sql = yield* SqlClient.SqlClient
        const { deleteOldEvents } = yield* WebhookDeliveries
        yield* sql`DELETE FROM webhook_event`
        yield* sql`INSERT INTO webhook_event (id, type, data, created_at)
          SELECT gen_random_uuid(), 'topup.credited', '{}', now() - interval '31 days' FROM generate_series(1, 12000)`
        expect(yield* deleteOldEvents).toBe(12_000)
        expect(yield* sql`SELECT FROM webhook_event`).toHaveLength(0)
      }).pipe(Effect.orDie)
    )
  })
})

describe("a delivery", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("is claimed again when the lease of the first claim has ended", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const reseller = yield* aReseller()
        const { endpoint, secret } = yield* anEndpoint(reseller.id, { url: "https://hooks.example/a" })
        yield* aCreditedOrder(reseller.id)
        const other = yield* anotherNode
        const both = yield* Effect.all([claimed(), Effect.provide(claimed(), other)], { concurrency: 2 })
        const [first, ...more] = both.flat()
        expect(more).toEqual([])
        expect(first).toMatchObject({ endpointId: endpoint.id, url: "https://hooks.example/a" })
        expect(first?.secrets?.map(Redacted.value)).toEqual([Redacted.value(secret)])
        expect(yield* Effect.provide(claimed(), other)).toEqual([])

        yield* later(endpoint.id, "1 hour")
        expect(yield* Effect.provide(claimed(), other)).toEqual([])
        yield* later(endpoint.id, "1 hour")
        const [second] = yield* Effect.provide(claimed(), other)
        expect(second?.id).toBe(first?.id)
        // The lease of the first claim has ended, so its result is not recorded.
        expect(yield* record(first, BROKEN)).toEqual(Option.none())
        expect(yield* Effect.provide(record(second, OK), other)).toEqual(Option.some("delivered"))
        expect(yield* record(second, BROKEN)).toEqual(Option.none())
        expect(yield* statusOf(reseller.id)).toEqual([{ status: "delivered", attempts: 2, lastResult: OK }])
      }).pipe(Effect.scoped)
    )

    it.effect("of a node that stopped is claimed by another node", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const reseller = yield* aReseller()
        yield* anEndpoint(reseller.id)
        const order = yield* Effect.scoped(
          Effect.flatMap(anotherNode, (node) => Effect.provide(aCreditedOrder(reseller.id), node))
        )
        expect(yield* claimed()).toMatchObject([{ event: { data: { topup_id: order.id } } }])
        expect(yield* claimed()).toEqual([])
      })
    )

    it.effect("is claimed once when two nodes claim deliveries concurrently", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const reseller = yield* aReseller()
        for (let i = 0; i < 3; i++) yield* anEndpoint(reseller.id)
        for (let i = 0; i < 3; i++) yield* aCreditedOrder(reseller.id)
        const other = yield* anotherNode
        const claims = Array.from({ length: 8 }, (_, i) =>
          i % 2 === 0 ? claimed({ limit: 2 }) : Effect.provide(claimed({ limit: 2 }), other)
        )
        const found = (yield* Effect.all(claims, { concurrency: "unbounded" })).flat()
        found.push(...(yield* claimed()))
        expect([found.length, new Set(found.map(({ id }) => id)).size]).toEqual([9, 9])
      }).pipe(Effect.scoped)
    )

    it.effect("waits while its endpoint has as many running attempts as are allowed", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const reseller = yield* aReseller()
        const busy = (yield* anEndpoint(reseller.id)).endpoint.id
        for (let i = 0; i < 6; i++) yield* aCreditedOrder(reseller.id)
        const free = (yield* anEndpoint(reseller.id)).endpoint.id
        yield* aCreditedOrder(reseller.id)
        const endpointsOf = (found: ReadonlyArray<{ readonly endpointId: string }>) =>
          found.map(({ endpointId }) => (endpointId === busy ? "busy" : "free"))
        expect(endpointsOf(yield* claimed({ running: new Map([[busy, 3]]) }))).toEqual(["busy", "free"])
        expect(endpointsOf(yield* claimed({ running: new Map([[busy, 4]]) }))).toEqual([])
        expect(endpointsOf(yield* claimed({ running: new Map([[free, 4]]) }))).toEqual(Array(4).fill("busy"))
      })
    )

    it.effect("waits while its owner has as many running attempts as are allowed", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const [busy, free] = [yield* aReseller(), yield* aReseller()]
        const endpoints: Array<WebhookEndpointId> = []
        for (let i = 0; i < 3; i++) endpoints.push((yield* anEndpoint(busy.id)).endpoint.id)
        yield* anEndpoint(free.id)
        for (let i = 0; i < 3; i++) yield* aCreditedOrder(busy.id)
        yield* aCreditedOrder(free.id)
        const ownersOf = (found: ReadonlyArray<{ readonly endpointId: WebhookEndpointId }>) =>
          found.map(({ endpointId }) => (endpoints.includes(endpointId) ? "busy" : "free")).sort()
        const running = (...attempts: ReadonlyArray<number>) =>
          claimed({
            maxPerOwner: 6,
            running: new Map(attempts.map((many, i) => [endpoints[i] as WebhookEndpointId, many]))
          })
        expect(ownersOf(yield* claimed({ limit: 2 }))).toEqual(["busy", "free"])
        expect(ownersOf(yield* running(4, 1))).toEqual(["busy"])
        expect(ownersOf(yield* running(2, 2, 2))).toEqual([])
        expect(ownersOf(yield* running())).toEqual(Array(6).fill("busy"))
      })
    )

    it.effect("fails after attempts for 24 hours", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const reseller = yield* aReseller()
        const { endpoint } = yield* anEndpoint(reseller.id)
        yield* aCreditedOrder(reseller.id)
        let attempts = 0
        const pauses = ["5 seconds", "20 seconds", "80 seconds", "320 seconds", "1280 seconds", "5120 seconds"]
        for (const pause of [...pauses, ...Array(5).fill("4 hours"), "4 hours"]) {
          const [delivery] = yield* claimed()
          attempts += 1
          expect(yield* record(delivery, BROKEN), pause).toEqual(Option.some("pending"))
          // On a busy machine, a shorter pause can end before this statement.
          if (pause === "4 hours") expect(yield* claimed()).toEqual([])
          yield* later(endpoint.id, pause)
        }
        const [last] = yield* claimed()
        expect(yield* record(last, { _tag: "NoResponse", reason: "timeout" })).toEqual(Option.some("failed"))
        yield* later(endpoint.id, "1 day")
        expect(yield* claimed()).toEqual([])
        expect(yield* statusOf(reseller.id)).toEqual([
          { status: "failed", attempts: attempts + 1, lastResult: { _tag: "NoResponse", reason: "timeout" } }
        ])
      })
    )

    it.effect("is replayed with the same event id", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const { replay, page } = yield* WebhookDeliveries
        const [reseller, other] = [yield* aReseller(), yield* aReseller()]
        yield* anEndpoint(reseller.id)
        yield* aCreditedOrder(reseller.id)
        const [first] = yield* claimed()
        yield* record(first, OK)
        const [listed] = yield* page("everyone", { status: "delivered" }, { limit: 5, after: undefined })
        if (first === undefined || listed === undefined) return yield* Effect.dieMessage("no delivery")
        expect((yield* Effect.flip(replay(other.id, first.id, operator)))._tag).toBe("WebhookDeliveryNotFound")
        expect(yield* claimed()).toEqual([])
        expect(yield* replay(reseller.id, first.id, operator)).toMatchObject({ status: "pending", attempts: 0 })
        const [again] = yield* claimed()
        expect(again?.event).toEqual(first.event)
        expect(yield* audited(first.id)).toMatchObject([{ actor: operator.actor, action: "webhook.replay" }])
      }).pipe(Effect.orDie)
    )

    it.effect("begins its 24 hours again after a replay", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const { replay } = yield* WebhookDeliveries
        const reseller = yield* aReseller()
        const { endpoint } = yield* anEndpoint(reseller.id)
        yield* aCreditedOrder(reseller.id)
        const [before] = yield* claimed()
        if (before === undefined) return yield* Effect.dieMessage("no delivery")
        yield* later(endpoint.id, "1 day")
        expect(yield* replay("everyone", before.id, operator)).toMatchObject({ status: "pending", attempts: 0 })
        expect(yield* record(before, OK)).toEqual(Option.none())
        const [again] = yield* claimed()
        expect(again?.event).toEqual(before.event)
        expect(yield* record(again, BROKEN)).toEqual(Option.some("pending"))
        expect(yield* statusOf(reseller.id)).toEqual([{ status: "pending", attempts: 1, lastResult: BROKEN }])
      }).pipe(Effect.orDie)
    )

    it.effect("waits while its endpoint is disabled", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const { change, remove } = yield* WebhookEndpoints
        const reseller = yield* aReseller()
        const { endpoint } = yield* anEndpoint(reseller.id)
        yield* aCreditedOrder(reseller.id)
        yield* change(reseller.id, endpoint.id, { enabled: false }, operator)
        expect(yield* claimed()).toEqual([])
        expect(yield* (yield* WebhookDeliveries).backlog).toEqual({ oldestSeconds: 0, overdueSeconds: 0 })
        yield* change(reseller.id, endpoint.id, { enabled: true }, operator)
        yield* later(endpoint.id, "100 seconds")
        const { overdueSeconds } = yield* (yield* WebhookDeliveries).backlog
        expect(overdueSeconds).toBeGreaterThanOrEqual(100)
        const [delivery] = yield* claimed()
        yield* remove(reseller.id, endpoint.id, operator)
        expect(yield* record(delivery, OK)).toEqual(Option.none())
        expect(yield* statusOf(reseller.id)).toEqual([])
      }).pipe(Effect.orDie)
    )

    it.effect("waits while its reseller is suspended", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const { review } = yield* Resellers
        const reseller = yield* aReseller()
        const { endpoint } = yield* anEndpoint(reseller.id)
        yield* aCreditedOrder(reseller.id)
        yield* review(reseller.id, "suspend", operator)
        yield* later(endpoint.id, "100 seconds")
        const [suspended, ...more] = yield* claimed()
        expect([suspended?.event.type, more]).toEqual(["reseller.reviewed", []])
        expect(yield* record(suspended, OK)).toEqual(Option.some("delivered"))
        expect(yield* (yield* WebhookDeliveries).backlog).toEqual({ oldestSeconds: 0, overdueSeconds: 0 })
        yield* review(reseller.id, "reactivate", operator)
        const both = yield* claimed()
        expect(both.map(({ event }) => event.type).sort()).toEqual(["reseller.reviewed", "topup.credited"])
      }).pipe(Effect.orDie)
    )

    it.scoped("is sent again if its result could not be recorded", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const reseller = yield* aReseller()
        const { endpoint } = yield* anEndpoint(reseller.id)
        yield* aCreditedOrder(reseller.id)
        const database = yield* TestDatabase
        const cable = yield* Cable.scoped(database.settings)
        const node = yield* aNodeOf({ ...database, settings: cable.settings })
        const sent: Array<string> = []
        const send: WebhookSender["Type"]["send"] = ({ eventId }) =>
          Effect.sync(() => {
            sent.push(eventId)
            if (sent.length === 1) cable.cut()
            return OK
          })
        const logged: Array<unknown> = []
        const log = Logger.make(({ message }) => void logged.push([message].flat()[0]))
        const counts = new WebhookCounters()
        const { startDue } = yield* Layer.build(
          WebhookDispatcher.layer.pipe(
            Layer.provide(Layer.merge(Layer.succeedContext(node), Layer.succeed(WebhookSender, { send })))
          )
        ).pipe(
          Effect.provideService(WebhookCounts, counts),
          Effect.map(Context.get(WebhookDispatcher.WebhookDispatcher))
        )
        const round = Effect.gen(function* () {
          const started = yield* Effect.provide(startDue, Logger.replace(Logger.defaultLogger, log))
          yield* Effect.repeat(Effect.sleep("10 millis"), { until: () => counts.running === 0 })
          return started
        })

        expect(yield* round).toBe(1)
        expect(logged).toEqual(["the result of a webhook attempt could not be recorded; the webhook is sent again"])
        cable.mend()
        expect(yield* statusOf(reseller.id)).toEqual([{ status: "pending", attempts: 1, lastResult: undefined }])
        expect(yield* round).toBe(0)
        yield* later(endpoint.id, "61 seconds")
        expect(yield* round).toBe(1)
        expect(sent).toEqual([sent[0], sent[0]])
        expect(yield* statusOf(reseller.id)).toEqual([{ status: "delivered", attempts: 2, lastResult: OK }])
      }).pipe(Effect.timeout("20 seconds"), Effect.orDie)
    )

    it.effect("is deleted with its event after 30 days", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const sql = yield* SqlClient.SqlClient
        const { deleteOldEvents } = yield* WebhookDeliveries
        const reseller = yield* aReseller()
        yield* anEndpoint(reseller.id)
        const [old, recent] = [yield* aCreditedOrder(reseller.id), yield* aCreditedOrder(reseller.id)]
        yield* sql`UPDATE webhook_event SET created_at = now() - CASE WHEN data ->> 'topup_id' = ${old.id}
          THEN interval '31 days' ELSE interval '29 days' END`
        yield* deleteOldEvents
        expect((yield* claimed()).map(({ event }) => event.data)).toMatchObject([{ topup_id: recent.id }])
        expect(yield* sql`SELECT FROM webhook_event WHERE data ->> 'topup_id' = ${old.id}`).toHaveLength(0)
      }).pipe(Effect.orDie)
    )
  })
})

describe("an endpoint", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("uses both secrets for 24 hours after a rotation", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const sql = yield* SqlClient.SqlClient
        const { rotateSecret } = yield* WebhookEndpoints
        const reseller = yield* aReseller()
        const before = yield* anEndpoint(reseller.id)
        const after = yield* rotateSecret(reseller.id, before.endpoint.id, operator)
        const hours = ((after.endpoint.previousSecretUntil?.getTime() ?? 0) - Date.now()) / 3_600_000
        expect(hours).toBeCloseTo(24, 1)
        yield* aCreditedOrder(reseller.id)
        yield* aCreditedOrder(reseller.id)
        const secretsOf = Effect.map(claimed({ limit: 1 }), ([found]) => found?.secrets?.map(Redacted.value))
        expect(yield* secretsOf).toEqual([after.secret, before.secret].map(Redacted.value))
        yield* sql`UPDATE webhook_endpoint SET previous_secret_until = now()`
        expect(yield* secretsOf).toEqual([Redacted.value(after.secret)])
      }).pipe(Effect.orDie)
    )

    it.effect("stores its secret encrypted", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const sql = yield* SqlClient.SqlClient
        const { endpoint, secret } = yield* anEndpoint((yield* aReseller()).id)
        const text = Redacted.value(secret)
        expect(text).toMatch(/^whsec_[\w+/]{43}=$/)
        const [row] = yield* sql<{
          text: string
        }>`SELECT encode(secret, 'escape') || (SELECT string_agg(detail::text, '')
          FROM audit_log WHERE subject = ${endpoint.id}) AS text FROM webhook_endpoint WHERE id = ${endpoint.id}`
        expect(row?.text).toContain("https://hooks.example/")
        expect(row?.text).not.toContain(text.slice(6, 20))
        expect(row?.text).not.toContain(Buffer.from(text.slice(6), "base64").toString("latin1").slice(0, 8))
      }).pipe(Effect.orDie)
    )

    it.effect("has no readable secret with another pepper", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const sql = yield* SqlClient.SqlClient
        const reseller = yield* aReseller()
        const [one, two] = [yield* anEndpoint(reseller.id), yield* anEndpoint(reseller.id)]
        const otherPepper = KeyMac.layer({
          prefix: "tg",
          pepper: Redacted.make("another pepper")
        })
        yield* aCreditedOrder(reseller.id)
        const elsewhere = Context.get(
          yield* Layer.build(Layer.provide(PgWebhookDeliveries.layer, otherPepper)),
          WebhookDeliveries
        )
        const claim = { limit: 1, maxPerEndpoint: 4, maxPerOwner: 16, running: new Map(), lease: Duration.seconds(60) }
        expect(yield* elsewhere.claim(claim)).toMatchObject([{ secrets: undefined }])
        yield* sql`UPDATE webhook_endpoint SET secret = (SELECT secret FROM webhook_endpoint WHERE id = ${one.endpoint.id})
          WHERE id = ${two.endpoint.id}`
        yield* sql`UPDATE webhook_delivery SET next_attempt_at = now()`
        const found = yield* claimed()
        expect(found.find(({ endpointId }) => endpointId === two.endpoint.id)?.secrets).toBeUndefined()
        expect(found.find(({ endpointId }) => endpointId === one.endpoint.id)?.secrets).toHaveLength(1)
      }).pipe(Effect.scoped, Effect.orDie)
    )

    it.effect("is refused if its owner has ten endpoints", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const { create, list } = yield* WebhookEndpoints
        const reseller = yield* aReseller()
        const { endpoint } = yield* anEndpoint(reseller.id)
        const more = Array.from({ length: 13 }, () => Effect.either(create(reseller.id, endpoint, operator)))
        const made = yield* Effect.all(more, { concurrency: "unbounded" })
        expect(made.filter(Either.isRight)).toHaveLength(9)
        const refusals = made.filter(Either.isLeft).map(({ left }) => left._tag)
        expect(refusals).toEqual(Array(4).fill("TooManyWebhookEndpoints"))
        expect(yield* list(reseller.id)).toHaveLength(10)
        yield* anEndpoint((yield* aReseller()).id)
      }).pipe(Effect.orDie)
    )

    it.effect("is not found for another reseller", () =>
      Effect.gen(function* () {
        yield* deleteEndpoints
        const { change, list, remove, rotateSecret } = yield* WebhookEndpoints
        const [reseller, other] = [yield* aReseller(), yield* aReseller()]
        const { endpoint } = yield* anEndpoint(reseller.id)
        const refused = [
          change(other.id, endpoint.id, { enabled: false }, operator),
          rotateSecret(other.id, endpoint.id, operator),
          remove(other.id, endpoint.id, operator)
        ]
        for (const attempt of refused) {
          expect((yield* Effect.flip(attempt as Effect.Effect<unknown, { _tag: string }>))._tag).toBe(
            "WebhookEndpointNotFound"
          )
        }
        expect(yield* list(other.id)).toEqual([])
        const thresholds = { quota_usd_micro: 5_000_000, plan_tokens: 10 }
        const changed = yield* change(reseller.id, endpoint.id, { events: ["balance.low"], thresholds }, operator)
        expect(changed).toEqual({
          ...endpoint,
          events: ["balance.low"],
          thresholds: { quotaUsdMicro: 5_000_000n, paygUsdMicro: undefined, planTokens: 10n }
        })
        expect(yield* list(reseller.id)).toEqual([changed])
        yield* remove("everyone", endpoint.id, operator)
        expect(yield* audited(endpoint.id)).toMatchObject([
          { action: "webhook.create", detail: { reseller_id: reseller.id } },
          { action: "webhook.change", detail: { events: ["balance.low"], plan_below_tokens: "10" } },
          { action: "webhook.delete" }
        ])
      }).pipe(Effect.orDie)
    )
  })
})
