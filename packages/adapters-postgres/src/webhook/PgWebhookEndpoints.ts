/**
 * Stores webhook endpoints in Postgres. Each change locks the row of the endpoint and writes an audit log entry.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { type EndpointScope, WebhookEndpoints } from "@tollgate/application/webhook/WebhookEndpoints"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import {
  changeEndpoint,
  type EndpointSettings,
  MAX_ENDPOINTS,
  PREVIOUS_SECRET_HOURS,
  TooManyWebhookEndpoints,
  type WebhookEndpoint,
  type WebhookEndpointId,
  WebhookEndpointNotFound
} from "@tollgate/domain/webhook/WebhookEndpoint"
import type { WebhookEventType } from "@tollgate/domain/webhook/WebhookEvent"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { arrayOf, nextUuidV7 } from "../client/SqlValues.ts"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import { KeyMac } from "../customer/KeyMac.ts"
import * as AuditLog from "../operations/AuditLog.ts"
import { newSecret, seal } from "./WebhookSecretCipher.ts"

interface EndpointRow {
  readonly id: WebhookEndpointId
  readonly reseller_id: ResellerId | null
  readonly url: string
  readonly events: ReadonlyArray<WebhookEventType>
  readonly enabled: boolean
  readonly quota_below_usd_micro: bigint | null
  readonly payg_below_usd_micro: bigint | null
  readonly plan_below_tokens: bigint | null
  readonly previous_secret_until: Date | null
  readonly created_at: Date
}

const COLUMNS = `id, reseller_id, url, events, enabled, quota_below_usd_micro, payg_below_usd_micro, plan_below_tokens,
  CASE WHEN previous_secret_until > clock_timestamp() THEN previous_secret_until END AS previous_secret_until, created_at`

/** Key of the advisory lock under which endpoints are created, so that no owner exceeds the limit. */
const CREATION_LOCK = 8_436_201_777n

export const layer: Layer.Layer<WebhookEndpoints, never, SqlClient.SqlClient | KeyMac> = Layer.effect(
  WebhookEndpoints,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const keys = yield* KeyMac
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    const columns = sql.literal(COLUMNS)
    const within = (scope: EndpointScope) => (scope === "everyone" ? sql`true` : sql`reseller_id = ${scope}`)

    const lock = (scope: EndpointScope, id: WebhookEndpointId) =>
      Effect.flatMap(
        sql<EndpointRow>`SELECT ${columns} FROM webhook_endpoint WHERE id = ${id} AND ${within(scope)} FOR UPDATE`,
        ([row]) => (row === undefined ? new WebhookEndpointNotFound() : Effect.succeed(toEndpoint(row)))
      )

    const settingsColumns = ({ url, events, enabled, thresholds }: EndpointSettings) => ({
      url,
      events: arrayOf(events),
      enabled,
      quota_below_usd_micro: thresholds.quotaUsdMicro ?? null,
      payg_below_usd_micro: thresholds.paygUsdMicro ?? null,
      plan_below_tokens: thresholds.planTokens ?? null
    })

    return {
      create: (owner, settings, operator) =>
        Effect.gen(function* () {
          yield* sql`SELECT pg_advisory_xact_lock(${CREATION_LOCK})`
          const owned = yield* sql`SELECT FROM webhook_endpoint WHERE reseller_id IS NOT DISTINCT FROM ${owner ?? null}`
          if (owned.length >= MAX_ENDPOINTS) return yield* new TooManyWebhookEndpoints({ max: MAX_ENDPOINTS })
          const id = (yield* nextUuidV7) as WebhookEndpointId
          const secret = newSecret()
          const { sealed, pepperVersion } = seal(keys, id, secret)
          const [row] = yield* sql<EndpointRow>`INSERT INTO webhook_endpoint ${sql.insert({
            id,
            reseller_id: owner ?? null,
            ...settingsColumns(settings),
            secret: sealed,
            secret_version: pepperVersion
          })} RETURNING ${columns}`
          if (row === undefined) return yield* Effect.dieMessage("the database did not return the inserted endpoint")
          const detail = { ...detailOf(settings), reseller_id: owner ?? "operator" }
          yield* AuditLog.record({ operator, action: "webhook.create", subject: id, detail })
          return { endpoint: toEndpoint(row), secret }
        }).pipe(transact, withSql),

      list: (scope) =>
        Effect.map(
          sql<EndpointRow>`SELECT ${columns} FROM webhook_endpoint WHERE ${within(scope)} ORDER BY created_at, id`,
          (rows) => rows.map(toEndpoint)
        ).pipe(sqlErrorsAreDefects),

      change: (scope, id, change, operator) =>
        Effect.gen(function* () {
          const settings = changeEndpoint(yield* lock(scope, id), change)
          // The next round of the balance watch records the low balances again, without events.
          const [row] = yield* sql<EndpointRow>`UPDATE webhook_endpoint
            SET ${sql.update(settingsColumns(settings))}, watched = false WHERE id = ${id} RETURNING ${columns}`
          if (row === undefined) return yield* new WebhookEndpointNotFound()
          yield* sql`DELETE FROM webhook_low_balance WHERE endpoint_id = ${id}`
          yield* AuditLog.record({ operator, action: "webhook.change", subject: id, detail: detailOf(settings) })
          return toEndpoint(row)
        }).pipe(transact, withSql),

      rotateSecret: (scope, id, operator) =>
        Effect.gen(function* () {
          yield* lock(scope, id)
          const secret = newSecret()
          const { sealed, pepperVersion } = seal(keys, id, secret)
          const [row] = yield* sql<EndpointRow>`UPDATE webhook_endpoint
            SET previous_secret = secret, previous_secret_version = secret_version,
              previous_secret_until = clock_timestamp() + make_interval(hours => ${PREVIOUS_SECRET_HOURS}),
              secret = ${sealed}, secret_version = ${pepperVersion}
            WHERE id = ${id} RETURNING ${columns}`
          if (row === undefined) return yield* new WebhookEndpointNotFound()
          yield* AuditLog.record({ operator, action: "webhook.rotate", subject: id, detail: { url: row.url } })
          return { endpoint: toEndpoint(row), secret }
        }).pipe(transact, withSql),

      remove: (scope, id, operator) =>
        Effect.gen(function* () {
          const endpoint = yield* lock(scope, id)
          yield* sql`DELETE FROM webhook_endpoint WHERE id = ${id}`
          yield* AuditLog.record({ operator, action: "webhook.delete", subject: id, detail: detailOf(endpoint) })
        }).pipe(transact, withSql)
    }
  })
)

const detailOf = ({ url, events, enabled, thresholds }: EndpointSettings) => ({
  url,
  events,
  enabled: String(enabled),
  quota_below_usd_micro: thresholds.quotaUsdMicro?.toString() ?? "none",
  payg_below_usd_micro: thresholds.paygUsdMicro?.toString() ?? "none",
  plan_below_tokens: thresholds.planTokens?.toString() ?? "none"
})

const toEndpoint = (row: EndpointRow): WebhookEndpoint => ({
  id: row.id,
  resellerId: row.reseller_id ?? undefined,
  url: row.url,
  events: row.events,
  thresholds: {
    quotaUsdMicro: row.quota_below_usd_micro ?? undefined,
    paygUsdMicro: row.payg_below_usd_micro ?? undefined,
    planTokens: row.plan_below_tokens ?? undefined
  },
  enabled: row.enabled,
  createdAt: row.created_at,
  previousSecretUntil: row.previous_secret_until ?? undefined
})
