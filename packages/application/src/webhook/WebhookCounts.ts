/**
 * Counts the attempts of this process to deliver webhooks, and keeps the last known backlog, for the metrics.
 */
import * as Context from "effect/Context"
import type { DeliveryBacklog } from "./WebhookDeliveries.ts"

/** `retried`: the attempt failed, and another attempt follows. `failed`: the last attempt failed. */
export const deliveryOutcomes = ["delivered", "retried", "failed"] as const
export type DeliveryOutcome = (typeof deliveryOutcomes)[number]

export class WebhookCounters {
  readonly outcomes: Record<DeliveryOutcome, number> = { delivered: 0, retried: 0, failed: 0 }
  backlog: DeliveryBacklog = { oldestSeconds: 0, overdueSeconds: 0 }
  /** The number of attempts that are running. */
  running = 0
}

/** The counters of this process. A `Context.Reference` has a default value, so no layer has to provide it. */
export class WebhookCounts extends Context.Reference<WebhookCounts>()("@tollgate/application/WebhookCounts", {
  defaultValue: () => new WebhookCounters()
}) {}
