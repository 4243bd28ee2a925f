/**
 * Stores deliveries in Postgres, and shares them between the nodes.
 *
 * A claim sets the time of the next attempt to the end of a lease. If a node dies during an attempt, the delivery stays
 * pending, and another node claims it when the lease has ended.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { WebhookDeliveries } from "@tollgate/application/webhook/WebhookDeliveries"
import type { EndpointScope } from "@tollgate/application/webhook/WebhookEndpoints"
import type { Operator } from "@tollgate/domain/operations/Operation"
import {
  decideDelivery,
  RETRY_HOURS,
  type WebhookDeliveryId,
  WebhookDeliveryNotFound
} from "@tollgate/domain/webhook/WebhookDelivery"
import { type WebhookEndpointId, WebhookEndpointNotFound } from "@tollgate/domain/webhook/WebhookEndpoint"
import { TEST_EVENT } from "@tollgate/domain/webhook/WebhookEvent"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { listSql, type PositionRow, toPosition } from "../client/Positions.ts"
import { arrayOf, nextUuidV7 } from "../client/SqlValues.ts"
import { databaseTime, sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import { KeyMac } from "../customer/KeyMac.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import {
  CLAIMED_COLUMNS,
  type ClaimedRow,
  DELIVERY_COLUMNS,
  DELIVERY_TABLES,
  type DeliveryRow,
  toClaimed,
  toDelivery
} from "./DeliveryRows.ts"

const RETENTION_DAYS = 30
const DELETE_BATCH_SIZE = 5_000

export const layer: Layer.Layer<WebhookDeliveries, never, SqlClient.SqlClient | KeyMac> = Layer.effect(
  WebhookDeliveries,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const keys = yield* KeyMac
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    const [delivery, deliveries, claimed] = [
      sql.literal(DELIVERY_COLUMNS),
      sql.literal(DELIVERY_TABLES),
      sql.literal(CLAIMED_COLUMNS)
    ]
    const within = (scope: EndpointScope) => (scope === "everyone" ? sql`true` : sql`e.reseller_id = ${scope}`)
    // A reseller that is not active receives only its reviews. Its other deliveries wait.
    const ownerIsActive = sql`(e.reseller_id IS NULL
      OR EXISTS (SELECT FROM reseller r WHERE r.id = e.reseller_id AND r.status = 'active'))`
    const isReview = sql`EXISTS (SELECT FROM webhook_event v WHERE v.id = d.event_id AND v.type = 'reseller.reviewed')`
    const { position, below, newestFirst } = yield* listSql("d.created_at", "d.id")

    const find = (scope: EndpointScope, id: WebhookDeliveryId) =>
      Effect.flatMap(
        sql<DeliveryRow>`SELECT ${delivery} FROM ${deliveries} WHERE d.id = ${id} AND ${within(scope)}`,
        ([row]) => (row === undefined ? new WebhookDeliveryNotFound() : Effect.succeed(toDelivery(row)))
      )

    const writeTest = (endpointId: WebhookEndpointId, operator: Operator) =>
      Effect.gen(function* () {
        const now = yield* databaseTime
        const [eventId, id] = [yield* nextUuidV7, (yield* nextUuidV7) as WebhookDeliveryId]
        yield* sql`INSERT INTO webhook_event (id, type, data, created_at)
          VALUES (${eventId}, ${TEST_EVENT}, jsonb_build_object('endpoint_id', ${endpointId}::text), ${now})`
        yield* sql`INSERT INTO webhook_delivery (id, event_id, endpoint_id, created_at, next_attempt_at, expires_at)
          VALUES (${id}, ${eventId}, ${endpointId}, ${now}, ${now}, ${expiryOf(now)})`
        yield* AuditLog.record({ operator, action: "webhook.test", subject: endpointId, detail: { event_id: eventId } })
        return yield* Effect.orDie(find("everyone", id))
      })

    return {
      claim: ({ limit, maxPerEndpoint, maxPerOwner, running, lease }) =>
        Effect.map(
          sql<ClaimedRow>`
            WITH endpoint AS (
              SELECT e.id, e.enabled, e.reseller_id, ${ownerIsActive} AS is_active,
                coalesce(running.attempts, 0) AS attempts,
                sum(running.attempts) OVER (PARTITION BY e.reseller_id) AS attempts_of_owner
              FROM webhook_endpoint e
                LEFT JOIN unnest(${arrayOf([...running.keys()])}::uuid[], ${arrayOf([...running.values()])}::int[])
                  AS running (endpoint_id, attempts) ON running.endpoint_id = e.id),
            due AS MATERIALIZED (
              SELECT id FROM (
                SELECT d.id, d.next_attempt_at, coalesce(e.attempts_of_owner, 0)
                  + row_number() OVER (PARTITION BY e.reseller_id ORDER BY d.next_attempt_at, d.id) AS place
                FROM endpoint e CROSS JOIN LATERAL (
                  SELECT d.id, d.next_attempt_at FROM webhook_delivery d
                  WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.next_attempt_at <= statement_timestamp()
                    AND (e.is_active OR ${isReview})
                  ORDER BY d.next_attempt_at LIMIT greatest(${maxPerEndpoint} - e.attempts, 0)
                  FOR UPDATE SKIP LOCKED) AS d
                WHERE e.enabled) AS d
              WHERE place <= ${maxPerOwner} ORDER BY place, next_attempt_at LIMIT ${limit})
            UPDATE webhook_delivery d
            SET lease_id = gen_random_uuid(), attempts = d.attempts + 1, last_attempt_at = clock_timestamp(),
              next_attempt_at = clock_timestamp() + make_interval(secs => ${Duration.toSeconds(lease)})
            FROM due, webhook_event v, webhook_endpoint e
            WHERE d.id = due.id AND v.id = d.event_id AND e.id = d.endpoint_id
            RETURNING ${claimed}`,
          (rows) => rows.map((row) => toClaimed(row, keys))
        ).pipe(sqlErrorsAreDefects),

      record: ({ id, leaseId }, result, jitter) =>
        Effect.gen(function* () {
          const [row] = yield* sql<{ attempts: number; expires_at: Date }>`SELECT attempts, expires_at
            FROM webhook_delivery WHERE id = ${id} AND lease_id = ${leaseId} AND status = 'pending' FOR UPDATE`
          if (row === undefined) return Option.none()
          const attempt = { number: row.attempts, expiresAt: row.expires_at }
          const decision = decideDelivery(attempt, result, yield* databaseTime, jitter)
          const next =
            decision.status === "pending" ? sql`${decision.nextAttemptAt}::timestamptz` : sql`next_attempt_at`
          yield* sql`UPDATE webhook_delivery SET status = ${decision.status}, next_attempt_at = ${next}, lease_id = NULL,
              last_status = ${result._tag === "Responded" ? result.status : null},
              last_failure = ${result._tag === "NoResponse" ? result.reason : null}
            WHERE id = ${id}`
          return Option.some(decision.status)
        }).pipe(transact, withSql),

      page: (scope, { endpointId, status }, { limit, after }) =>
        Effect.map(
          sql<DeliveryRow & PositionRow>`SELECT ${delivery}, ${position} FROM ${deliveries}
            WHERE ${within(scope)} AND ${below(after)}
              AND ${endpointId === undefined ? sql`true` : sql`d.endpoint_id = ${endpointId}`}
              AND ${status === undefined ? sql`true` : sql`d.status = ${status}`}
            ${newestFirst} LIMIT ${limit}`,
          (rows) => rows.map((row) => ({ ...toDelivery(row), position: toPosition(row) }))
        ).pipe(sqlErrorsAreDefects),

      find: (scope, id) => sqlErrorsAreDefects(find(scope, id)),

      replay: (scope, id, operator) =>
        Effect.gen(function* () {
          yield* find(scope, id)
          const now = yield* databaseTime
          // The lease is removed, so that a running attempt cannot record its result. The result could end the replayed
          // delivery, or move its next attempt.
          yield* sql`UPDATE webhook_delivery SET status = 'pending', attempts = 0, lease_id = NULL,
            next_attempt_at = ${now}, expires_at = ${expiryOf(now)} WHERE id = ${id}`
          const replayed = yield* find(scope, id)
          const detail = { event_id: replayed.event.id, endpoint_id: replayed.endpointId }
          yield* AuditLog.record({ operator, action: "webhook.replay", subject: id, detail })
          return replayed
        }).pipe(transact, withSql),

      test: (scope, endpointId, operator) =>
        Effect.gen(function* () {
          const found = yield* sql`SELECT FROM webhook_endpoint e WHERE e.id = ${endpointId} AND ${within(scope)}
            FOR KEY SHARE`
          return found.length === 0 ? yield* new WebhookEndpointNotFound() : yield* writeTest(endpointId, operator)
        }).pipe(transact, withSql),

      backlog: Effect.map(
        sql<{ oldest: number; overdue: number }>`
          SELECT coalesce(extract(epoch FROM statement_timestamp() - min(d.created_at)), 0)::float8 AS oldest,
            greatest(coalesce(extract(epoch FROM statement_timestamp() - min(d.next_attempt_at)), 0), 0)::float8 AS overdue
          FROM webhook_delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id
          WHERE d.status = 'pending' AND e.enabled AND (${ownerIsActive} OR ${isReview})`,
        ([row]) => ({ oldestSeconds: row?.oldest ?? 0, overdueSeconds: row?.overdue ?? 0 })
      ).pipe(sqlErrorsAreDefects),

      deleteOldEvents: Effect.provideService(deleteOldEvents, SqlClient.SqlClient, sql)
    }
  })
)

/**
 * Deletes old events batch by batch, each batch in its own transaction, so that no transaction is long. Returns the
 * number of deleted events.
 */
const deleteOldEvents: Effect.Effect<number, never, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`DELETE FROM webhook_event WHERE id IN (
    SELECT id FROM webhook_event
    WHERE created_at < statement_timestamp() - make_interval(days => ${RETENTION_DAYS})
    ORDER BY created_at LIMIT ${DELETE_BATCH_SIZE}) RETURNING 1`
).pipe(
  sqlErrorsAreDefects,
  Effect.flatMap(({ length }) =>
    length < DELETE_BATCH_SIZE ? Effect.succeed(length) : Effect.map(deleteOldEvents, (more) => length + more)
  )
)

const expiryOf = (now: Date): Date => new Date(now.getTime() + RETRY_HOURS * 3_600_000)
