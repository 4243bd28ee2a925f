/**
 * Writes events into the outbox, in the transaction of the change that they report. Therefore a change that is rolled
 * back has no event, and the event of a committed change is stored even if the process dies right after the commit.
 *
 * The statement writes an event only if an enabled endpoint subscribes to it. The operator's endpoints receive the
 * events of all resellers. A reseller's endpoint receives the events of this reseller while the reseller is active. It
 * receives a review of the reseller even if the reseller is not active.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { RETRY_HOURS } from "@tollgate/domain/webhook/WebhookDelivery"
import type { ResellerEvent } from "@tollgate/domain/webhook/WebhookEvent"
import * as Effect from "effect/Effect"
import { jsonText, nextUuidV7 } from "../client/SqlValues.ts"

export const writeEvent = ({
  type,
  resellerId,
  data
}: ResellerEvent): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // Without the lock, the change would fail if an endpoint were deleted at the same time.
    yield* sql`
      WITH subscribed AS MATERIALIZED (
        SELECT e.id FROM webhook_endpoint e
        WHERE e.enabled AND ${type}::text = ANY (e.events) AND (e.reseller_id IS NULL OR (
          e.reseller_id = ${resellerId} AND (${type}::text = 'reseller.reviewed'
            OR EXISTS (SELECT FROM reseller r WHERE r.id = e.reseller_id AND r.status = 'active'))))
        FOR KEY SHARE OF e
      ), event AS (
        INSERT INTO webhook_event (id, type, data, created_at)
        SELECT ${yield* nextUuidV7}::uuid, ${type}::text, ${jsonText(data)}::jsonb, clock_timestamp()
        WHERE EXISTS (SELECT FROM subscribed) RETURNING id, created_at)
      INSERT INTO webhook_delivery (id, event_id, endpoint_id, created_at, next_attempt_at, expires_at)
      SELECT gen_random_uuid(), event.id, subscribed.id, event.created_at, event.created_at,
        event.created_at + make_interval(hours => ${RETRY_HOURS})
      FROM event, subscribed`
  })
