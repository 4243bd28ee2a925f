/**
 * The events that webhooks report, and the JSON body of a webhook (docs/reference/webhooks.md).
 *
 * Amounts are strings of decimal digits. The data identifies resellers and customers by their ids, without names and
 * email addresses.
 */
import * as Schema from "effect/Schema"
import type { Reseller, ResellerId, ResellerStatus } from "../reseller/Reseller.ts"
import type { ReviewMove } from "../reseller/Review.ts"
import { orderNumberOf, type TopUpOrder } from "../topup/TopUpOrder.ts"

/** The events to which an endpoint can subscribe. */
export const WebhookEventType = Schema.Literal("topup.credited", "reseller.reviewed", "balance.low", "plan.exhausted")
export type WebhookEventType = typeof WebhookEventType.Type

/** The type of the event that the owner of an endpoint requests to test the endpoint. */
export const TEST_EVENT = "webhook.test"

export type EventData = Readonly<Record<string, string | boolean | null>>

/** An event that concerns a reseller. */
export interface ResellerEvent {
  readonly type: WebhookEventType
  readonly resellerId: ResellerId
  readonly data: EventData
}

export const topUpCredited = ({
  id,
  resellerId,
  method,
  quotaUsdMicro,
  creditedAt,
  simulated
}: TopUpOrder): ResellerEvent => ({
  type: "topup.credited",
  resellerId,
  data: {
    reseller_id: resellerId,
    topup_id: id,
    order_number: orderNumberOf(id),
    method,
    quota_usd_micro: quotaUsdMicro.toString(),
    credited_at: creditedAt?.toISOString() ?? null,
    simulated
  }
})

export const resellerReviewed = (
  { id, status }: Reseller,
  statusBefore: ResellerStatus,
  move: ReviewMove
): ResellerEvent => ({
  type: "reseller.reviewed",
  resellerId: id,
  data: { reseller_id: id, decision: move, status_before: statusBefore, status }
})

/** A stored event. */
export interface WebhookEvent {
  readonly id: string
  readonly type: string
  readonly createdAt: Date
  readonly data: unknown
}

/** Returns the body of a webhook. Every attempt to deliver an event sends the same bytes. */
export const bodyOf = ({ type, createdAt, data }: WebhookEvent): string =>
  JSON.stringify({ type, timestamp: createdAt.toISOString(), data })
