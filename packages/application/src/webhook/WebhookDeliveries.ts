/**
 * Declares the store of deliveries, the sender of webhooks, and the balance watch.
 *
 * The event of a change is written in the transaction of the change, with one delivery for each endpoint that
 * subscribes to it.
 */
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { CursorPage, Position } from "@tollgate/domain/validation/Cursor"
import type {
  CallResult,
  DeliveryStatus,
  WebhookDelivery,
  WebhookDeliveryId,
  WebhookDeliveryNotFound
} from "@tollgate/domain/webhook/WebhookDelivery"
import type { WebhookEndpointId, WebhookEndpointNotFound } from "@tollgate/domain/webhook/WebhookEndpoint"
import type { WebhookEvent } from "@tollgate/domain/webhook/WebhookEvent"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type { EndpointScope } from "./WebhookEndpoints.ts"

export interface DeliveryFilter {
  readonly endpointId?: WebhookEndpointId | undefined
  readonly status?: DeliveryStatus | undefined
}

export interface ListedDelivery extends WebhookDelivery {
  readonly position: Position
}

/** A delivery that this node attempts. Until the lease ends, no other node attempts it, unless it is replayed. */
export interface ClaimedDelivery {
  readonly id: WebhookDeliveryId
  readonly endpointId: WebhookEndpointId
  readonly leaseId: string
  readonly url: string
  readonly event: WebhookEvent
  /** The secrets that sign the webhook, newest first; undefined if the current secret cannot be decrypted. */
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>> | undefined
}

export interface DeliveryClaim {
  readonly limit: number
  /** The maximum number of concurrent attempts of this node at one endpoint. */
  readonly maxPerEndpoint: number
  /** The maximum number of concurrent attempts of this node at all endpoints of one owner. */
  readonly maxPerOwner: number
  /** The number of running attempts of this node, by endpoint. */
  readonly running: ReadonlyMap<WebhookEndpointId, number>
  readonly lease: Duration.Duration
}

/**
 * The waiting times of pending deliveries, except those that a disabled endpoint or an inactive reseller holds back; 0
 * if there are none.
 */
export interface DeliveryBacklog {
  /** The age of the oldest of these deliveries. */
  readonly oldestSeconds: number
  /** The time for which the attempt that became due first has waited for a node. */
  readonly overdueSeconds: number
}

export class WebhookDeliveries extends Context.Tag("@tollgate/application/WebhookDeliveries")<
  WebhookDeliveries,
  {
    /**
     * Claims deliveries that are due. Other nodes skip claimed deliveries. The owners (resellers and the operator) take
     * turns. Each running attempt of an owner on this node counts as a turn of this owner. In a turn of an owner, the
     * store claims the delivery that has been due for the longest time, among the deliveries that the limits allow.
     */
    readonly claim: (claim: DeliveryClaim) => Effect.Effect<ReadonlyArray<ClaimedDelivery>>
    /**
     * Applies `decideDelivery` to the result of a claimed attempt, and stores the decision. Returns the new status.
     * Returns none if another attempt was claimed since, or if the delivery was replayed or deleted.
     */
    readonly record: (
      claimed: ClaimedDelivery,
      result: CallResult,
      jitter: number
    ) => Effect.Effect<Option.Option<DeliveryStatus>>
    /** Returns a page of deliveries, newest first. */
    readonly page: (
      scope: EndpointScope,
      filter: DeliveryFilter,
      page: CursorPage
    ) => Effect.Effect<ReadonlyArray<ListedDelivery>>
    readonly find: (
      scope: EndpointScope,
      id: WebhookDeliveryId
    ) => Effect.Effect<WebhookDelivery, WebhookDeliveryNotFound>
    /**
     * Makes a delivery due again, with the same event id. The 24 hours of its attempts begin again. The audit log
     * records the replay.
     */
    readonly replay: (
      scope: EndpointScope,
      id: WebhookDeliveryId,
      operator: Operator
    ) => Effect.Effect<WebhookDelivery, WebhookDeliveryNotFound>
    /** Writes a test event for one endpoint. */
    readonly test: (
      scope: EndpointScope,
      id: WebhookEndpointId,
      operator: Operator
    ) => Effect.Effect<WebhookDelivery, WebhookEndpointNotFound>
    readonly backlog: Effect.Effect<DeliveryBacklog>
    /** Deletes the events that are older than 30 days, with their deliveries. Returns how many events were deleted. */
    readonly deleteOldEvents: Effect.Effect<number>
  }
>() {}

export interface WebhookCall {
  readonly url: string
  readonly eventId: string
  readonly body: string
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
}

export class WebhookSender extends Context.Tag("@tollgate/application/WebhookSender")<
  WebhookSender,
  {
    /** Signs and sends a webhook once, within a timeout. Follows no redirect, and ignores the body of the response. */
    readonly send: (call: WebhookCall) => Effect.Effect<CallResult>
  }
>() {}

export class BalanceWatch extends Context.Tag("@tollgate/application/BalanceWatch")<
  BalanceWatch,
  {
    /**
     * Compares the settled balances with the thresholds of the endpoints, and writes an event for each balance that has
     * fallen below a threshold since the last round of any node. Returns the number of events. Does nothing if a node
     * runs a round, or has run one within the interval.
     */
    readonly round: (interval: Duration.Duration) => Effect.Effect<number>
  }
>() {}
