/**
 * A delivery is the task of sending one event to one endpoint. Attempts follow each other with growing pauses until the
 * endpoint responds with a status from 200 to 299, for at most 24 hours (docs/reference/webhooks.md#deliveries).
 */
import * as Schema from "effect/Schema"
import type { ResellerId } from "../reseller/Reseller.ts"
import type { WebhookEndpointId } from "./WebhookEndpoint.ts"
import type { WebhookEvent } from "./WebhookEvent.ts"

export const WebhookDeliveryId = Schema.UUID.pipe(Schema.brand("WebhookDeliveryId"))
export type WebhookDeliveryId = typeof WebhookDeliveryId.Type

export const DeliveryStatus = Schema.Literal("pending", "delivered", "failed")
export type DeliveryStatus = typeof DeliveryStatus.Type

/**
 * The reason why an attempt got no response. `target_refused`: the URL is not allowed, or its host has an address that
 * is not public. `secret_unreadable`: the pepper under which the endpoint's secret is encrypted is not configured.
 */
export const CallFailure = Schema.Literal("timeout", "connection_failed", "target_refused", "secret_unreadable")
export type CallFailure = typeof CallFailure.Type

/** The result of one attempt: the status of the response, or the reason why there is none. */
export type CallResult =
  | { readonly _tag: "Responded"; readonly status: number }
  | { readonly _tag: "NoResponse"; readonly reason: CallFailure }

export interface WebhookDelivery {
  readonly id: WebhookDeliveryId
  readonly endpointId: WebhookEndpointId
  readonly resellerId: ResellerId | undefined
  readonly url: string
  readonly event: WebhookEvent
  readonly status: DeliveryStatus
  /** The number of attempts since the delivery was written or replayed. */
  readonly attempts: number
  readonly createdAt: Date
  readonly lastAttemptAt: Date | undefined
  readonly lastResult: CallResult | undefined
  /** The time of the next attempt; undefined unless the delivery is pending. */
  readonly nextAttemptAt: Date | undefined
}

/** The delivery does not exist, or belongs to an endpoint of another reseller. */
export class WebhookDeliveryNotFound extends Schema.TaggedError<WebhookDeliveryNotFound>()(
  "WebhookDeliveryNotFound",
  {}
) {}

export const RETRY_HOURS = 24
const FIRST_PAUSE_MILLIS = 5_000
const MAX_PAUSE_MILLIS = 4 * 3_600_000

/** An attempt whose result is known. */
export interface Attempt {
  /** The number of this attempt, from 1. */
  readonly number: number
  /** The time at which the last attempt is due: 24 hours after the delivery was written or replayed. */
  readonly expiresAt: Date
}

export type DeliveryDecision =
  | { readonly status: "delivered" | "failed" }
  | { readonly status: "pending"; readonly nextAttemptAt: Date }

export const isAccepted = (result: CallResult): boolean =>
  result._tag === "Responded" && result.status >= 200 && result.status <= 299

/**
 * Decides the next state of a delivery after an attempt. Without jitter, each pause is four times as long as the
 * previous pause, up to 4 hours. `jitter`, from 0 to 1, makes the pause up to 20 % shorter or longer. The last attempt
 * is due at the expiry.
 */
export const decideDelivery = (
  { number, expiresAt }: Attempt,
  result: CallResult,
  now: Date,
  jitter: number
): DeliveryDecision => {
  if (isAccepted(result)) return { status: "delivered" }
  if (now.getTime() >= expiresAt.getTime()) return { status: "failed" }
  const pause = Math.min(MAX_PAUSE_MILLIS, FIRST_PAUSE_MILLIS * 4 ** Math.min(number - 1, 16))
  const at = now.getTime() + Math.round(pause * (0.8 + 0.4 * jitter))
  return { status: "pending", nextAttemptAt: new Date(Math.min(at, expiresAt.getTime())) }
}
