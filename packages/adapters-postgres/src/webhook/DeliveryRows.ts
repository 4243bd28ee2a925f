/**
 * Reads the rows of deliveries, each with its event and the URL of its endpoint.
 */
import type { ClaimedDelivery } from "@tollgate/application/webhook/WebhookDeliveries"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import {
  CallFailure,
  type CallResult,
  type DeliveryStatus,
  type WebhookDelivery,
  type WebhookDeliveryId
} from "@tollgate/domain/webhook/WebhookDelivery"
import type { WebhookEndpointId } from "@tollgate/domain/webhook/WebhookEndpoint"
import type * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type { KeyMac } from "../customer/KeyMac.ts"
import { open } from "./WebhookSecretCipher.ts"

interface EventColumns {
  readonly id: WebhookDeliveryId
  readonly endpoint_id: WebhookEndpointId
  readonly url: string
  readonly event_id: string
  readonly type: string
  readonly data: unknown
  readonly event_at: Date
}

const EVENT_COLUMNS = "d.id, d.endpoint_id, e.url, d.event_id, v.type, v.data, v.created_at AS event_at"

/** The tables from which the columns of this file are read. */
export const DELIVERY_TABLES =
  "webhook_delivery d JOIN webhook_event v ON v.id = d.event_id JOIN webhook_endpoint e ON e.id = d.endpoint_id"

export interface DeliveryRow extends EventColumns {
  readonly reseller_id: ResellerId | null
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly created_at: Date
  readonly last_attempt_at: Date | null
  readonly last_status: number | null
  readonly last_failure: string | null
  readonly next_attempt_at: Date
}

export const DELIVERY_COLUMNS = `${EVENT_COLUMNS}, e.reseller_id, d.status, d.attempts, d.created_at, d.last_attempt_at, d.last_status,
  d.last_failure, d.next_attempt_at`

const eventOf = (row: EventColumns) => ({
  id: row.event_id,
  type: row.type,
  createdAt: row.event_at,
  data: row.data
})

const isFailure = Schema.is(CallFailure)

const resultOf = ({ last_status, last_failure }: DeliveryRow): CallResult | undefined =>
  last_status !== null
    ? { _tag: "Responded", status: last_status }
    : last_failure !== null && isFailure(last_failure)
      ? { _tag: "NoResponse", reason: last_failure }
      : undefined

export const toDelivery = (row: DeliveryRow): WebhookDelivery => ({
  id: row.id,
  endpointId: row.endpoint_id,
  resellerId: row.reseller_id ?? undefined,
  url: row.url,
  event: eventOf(row),
  status: row.status,
  attempts: row.attempts,
  createdAt: row.created_at,
  lastAttemptAt: row.last_attempt_at ?? undefined,
  lastResult: resultOf(row),
  nextAttemptAt: row.status === "pending" ? row.next_attempt_at : undefined
})

export interface ClaimedRow extends EventColumns {
  readonly lease_id: string
  readonly secret: Buffer
  readonly secret_version: number
  /** The previous secret while webhooks are also signed with it; otherwise null. */
  readonly previous_secret: Buffer | null
  readonly previous_secret_version: number | null
}

export const CLAIMED_COLUMNS = `${EVENT_COLUMNS}, d.lease_id, e.secret, e.secret_version,
  CASE WHEN e.previous_secret_until > statement_timestamp() THEN e.previous_secret END AS previous_secret,
  e.previous_secret_version`

export const toClaimed = (row: ClaimedRow, keys: Context.Tag.Service<KeyMac>): ClaimedDelivery => {
  const current = open(keys, row.endpoint_id, { sealed: row.secret, pepperVersion: row.secret_version })
  const previous =
    row.previous_secret === null || row.previous_secret_version === null
      ? undefined
      : open(keys, row.endpoint_id, { sealed: row.previous_secret, pepperVersion: row.previous_secret_version })
  return {
    id: row.id,
    endpointId: row.endpoint_id,
    leaseId: row.lease_id,
    url: row.url,
    event: eventOf(row),
    secrets: current === undefined ? undefined : [current, ...(previous === undefined ? [] : [previous])]
  }
}
