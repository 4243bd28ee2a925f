import { SqlClient } from "@effect/sql"
import { WebhookDeliveries } from "@tollgate/application/webhook/WebhookDeliveries"
import { WebhookEndpoints } from "@tollgate/application/webhook/WebhookEndpoints"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { type EndpointSettings, newEndpoint, type WebhookEndpointId } from "@tollgate/domain/webhook/WebhookEndpoint"
import { Duration, Effect } from "effect"
import { operator } from "../../support/Stores.ts"

const settings = newEndpoint({ url: "https://hooks.example/", events: ["topup.credited", "reseller.reviewed"] })

export const anEndpoint = (owner: ResellerId | undefined, facts: Partial<EndpointSettings> = {}) =>
  Effect.orDie(Effect.flatMap(WebhookEndpoints, ({ create }) => create(owner, { ...settings, ...facts }, operator)))

/** The duration of a lease that does not end by itself during a test, even on a busy machine. */
const LEASE = Duration.hours(2)

export const claimed = (
  facts: {
    readonly limit?: number
    readonly maxPerOwner?: number
    readonly running?: ReadonlyMap<WebhookEndpointId, number>
  } = {}
) =>
  Effect.flatMap(WebhookDeliveries, ({ claim }) =>
    claim({ limit: 100, maxPerEndpoint: 4, maxPerOwner: 100, running: new Map(), lease: LEASE, ...facts })
  )

/** Moves the next attempt and the expiry of each delivery to an endpoint earlier, as if the interval had passed. */
export const later = (endpointId: WebhookEndpointId, interval: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE webhook_delivery SET next_attempt_at = next_attempt_at - ${interval}::interval,
      expires_at = expires_at - ${interval}::interval WHERE endpoint_id = ${endpointId}`
  ).pipe(Effect.orDie)

/** The type and data of the events for an endpoint, oldest first. */
export const eventsFor = (endpointId: WebhookEndpointId) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ type: string; data: Record<string, unknown> }>`SELECT v.type, v.data FROM webhook_event v
      JOIN webhook_delivery d ON d.event_id = v.id WHERE d.endpoint_id = ${endpointId} ORDER BY v.created_at, v.id`
  ).pipe(Effect.orDie)
