import { describe, expect, it } from "@effect/vitest"
import { WebhookCounters, WebhookCounts } from "@tollgate/application/webhook/WebhookCounts"
import {
  type ClaimedDelivery,
  type DeliveryClaim,
  WebhookDeliveries,
  WebhookSender
} from "@tollgate/application/webhook/WebhookDeliveries"
import * as WebhookDispatcher from "@tollgate/application/webhook/WebhookDispatcher"
import type { CallResult, DeliveryStatus, WebhookDeliveryId } from "@tollgate/domain/webhook/WebhookDelivery"
import type { WebhookEndpointId } from "@tollgate/domain/webhook/WebhookEndpoint"
import { Context, Deferred, Effect, Layer, Option, Redacted } from "effect"

const OK: CallResult = { _tag: "Responded", status: 200 }
const HANGING = "hanging" as WebhookEndpointId
const FINE = "fine" as WebhookEndpointId

let count = 0
const deliveryTo = (endpointId: WebhookEndpointId, facts: Partial<ClaimedDelivery> = {}): ClaimedDelivery => {
  count += 1
  return {
    id: `delivery ${count}` as WebhookDeliveryId,
    endpointId,
    leaseId: `lease ${count}`,
    url: `https://${endpointId}.example/`,
    event: { id: `event ${count}`, type: "webhook.test", createdAt: new Date(0), data: {} },
    secrets: [Redacted.make("whsec_c2VjcmV0")],
    ...facts
  }
}

/** Stores due deliveries in memory. A claim obeys `limit` and `maxPerEndpoint`. */
class Queue {
  readonly due: Array<ClaimedDelivery> = []
  readonly recorded: Array<readonly [WebhookEndpointId, CallResult]> = []
  readonly claims: Array<DeliveryClaim> = []
  status: Option.Option<DeliveryStatus> = Option.some("delivered")

  readonly layer = Layer.mock(WebhookDeliveries, {
    claim: (claim) =>
      Effect.sync(() => {
        this.claims.push({ ...claim, running: new Map(claim.running) })
        const started = new Map(claim.running)
        const claimed: Array<ClaimedDelivery> = []
        for (const delivery of [...this.due]) {
          const running = started.get(delivery.endpointId) ?? 0
          if (claimed.length >= claim.limit || running >= claim.maxPerEndpoint) continue
          started.set(delivery.endpointId, running + 1)
          claimed.push(delivery)
          this.due.splice(this.due.indexOf(delivery), 1)
        }
        return claimed
      }),
    record: ({ endpointId }, result) =>
      Effect.sync(() => {
        this.recorded.push([endpointId, result])
        return this.status
      })
  })
}

const dispatcherOver = (queue: Queue, send: WebhookSender["Type"]["send"]) =>
  Effect.gen(function* () {
    const counts = new WebhookCounters()
    const sender = Layer.succeed(WebhookSender, { send })
    const built = yield* Layer.build(
      WebhookDispatcher.layer.pipe(Layer.provide(Layer.merge(queue.layer, sender)))
    ).pipe(Effect.provideService(WebhookCounts, counts))
    return { counts, startDue: Context.get(built, WebhookDispatcher.WebhookDispatcher).startDue }
  })

const yields = Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow(), { discard: true })

describe("the webhook dispatcher", () => {
  it.scoped("makes at most four concurrent attempts at a hanging endpoint", () =>
    Effect.gen(function* () {
      const queue = new Queue()
      const gate = yield* Deferred.make<void>()
      const { counts, startDue } = yield* dispatcherOver(queue, ({ url }) =>
        url.includes(HANGING) ? Effect.as(Deferred.await(gate), OK) : Effect.succeed(OK)
      )
      queue.due.push(...Array.from({ length: 9 }, () => deliveryTo(HANGING)), deliveryTo(FINE))
      expect(yield* startDue).toBe(5)
      yield* yields
      expect(queue.recorded).toEqual([[FINE, OK]])

      queue.due.push(deliveryTo(FINE), deliveryTo(FINE))
      expect(yield* startDue).toBe(2)
      yield* yields
      expect(queue.recorded.filter(([endpoint]) => endpoint === FINE)).toHaveLength(3)
      expect(queue.claims.at(-1)?.running).toEqual(new Map([[HANGING, 4]]))
      expect(counts.running).toBe(4)

      yield* Deferred.succeed(gate, undefined)
      yield* yields
      expect(yield* startDue).toBe(4)
      yield* yields
      expect(yield* startDue).toBe(1)
      yield* yields
      expect(counts).toMatchObject({ running: 0, outcomes: { delivered: 12, retried: 0, failed: 0 } })
      expect(queue.due).toEqual([])
    })
  )

  it.scoped("runs at most 128 attempts at the same time", () =>
    Effect.gen(function* () {
      const queue = new Queue()
      const { startDue } = yield* dispatcherOver(queue, () => Effect.never)
      queue.due.push(...Array.from({ length: 130 }, (_, i) => deliveryTo(`endpoint ${i}` as WebhookEndpointId)))
      expect(yield* startDue).toBe(128)
      expect(yield* startDue).toBe(0)
      expect(queue.claims).toHaveLength(1)
    })
  )

  it.scoped("limits concurrent deliveries to 4 per endpoint and 16 per owner", () =>
    Effect.gen(function* () {
      const queue = new Queue()
      const { startDue } = yield* dispatcherOver(queue, () => Effect.never)
      yield* startDue
      expect(queue.claims).toMatchObject([{ maxPerEndpoint: 4, maxPerOwner: 16 }])
    })
  )

  it.scoped("records no result of an attempt that throws an exception", () =>
    Effect.gen(function* () {
      const queue = new Queue()
      const { counts, startDue } = yield* dispatcherOver(queue, () => Effect.dieMessage("an exception"))
      queue.due.push(deliveryTo(FINE))
      expect(yield* startDue).toBe(1)
      yield* yields
      expect([queue.recorded, counts.running]).toEqual([[], 0])
    })
  )

  it.scoped("sends nothing to an endpoint whose secret cannot be decrypted", () =>
    Effect.gen(function* () {
      const queue = new Queue()
      const { startDue } = yield* dispatcherOver(queue, () => Effect.dieMessage("sent"))
      queue.due.push(deliveryTo(FINE, { secrets: undefined }))
      yield* startDue
      yield* yields
      expect(queue.recorded).toEqual([[FINE, { _tag: "NoResponse", reason: "secret_unreadable" }]])
    })
  )

  it.scoped("counts deliveries by outcome", () =>
    Effect.gen(function* () {
      const queue = new Queue()
      const { counts, startDue } = yield* dispatcherOver(queue, () => Effect.succeed(OK))
      for (const status of [Option.some("pending" as const), Option.some("failed" as const), Option.none()]) {
        queue.status = status
        queue.due.push(deliveryTo(FINE))
        yield* startDue
        yield* yields
      }
      expect(counts.outcomes).toEqual({ delivered: 0, retried: 1, failed: 1 })
    })
  )
})
