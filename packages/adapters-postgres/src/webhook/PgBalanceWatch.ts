/**
 * Finds balances that have fallen below a threshold of an endpoint. The balance watch reads the settled balances of the
 * accounts, so the transactions of the ledger do no work for webhooks.
 *
 * The table `webhook_low_balance` contains the balances that the last round found low. A round writes an event for a
 * low balance that is not in this table, unless the balance has not fallen (`WRITE_FALLEN`). A round deletes a balance
 * that has reached its threshold again from the table. A round reads the balances and this table in one snapshot, and
 * writes the events and this table in one transaction. Therefore no event is lost or written twice. A balance that
 * falls and rises between two rounds has no event. The transaction that links a customer to a reseller adds the
 * customer's low balances to this table (`../customer/LowBalances.ts`).
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { BalanceWatch } from "@tollgate/application/webhook/WebhookDeliveries"
import { RETRY_HOURS } from "@tollgate/domain/webhook/WebhookDelivery"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { transact } from "../client/Transact.ts"
import { REMAINING, THRESHOLDS } from "../customer/LowBalances.ts"

export const layer: Layer.Layer<BalanceWatch, never, SqlClient.SqlClient> = Layer.effect(
  BalanceWatch,
  Effect.map(SqlClient.SqlClient, (sql) => {
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    return {
      round: (interval) =>
        Effect.gen(function* () {
          // If an endpoint is changed during the round, the snapshot is stale: the transaction fails and is repeated.
          yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`
          // The timer of a node can fire slightly before the interval since its last round has passed.
          const turn = yield* sql.unsafe(TAKE_TURN, [Duration.toSeconds(interval) * 0.9])
          if (turn.length === 0) return 0
          yield* sql.unsafe(LOCK_WATCHING)
          yield* sql.unsafe(FORGET_RECOVERED)
          const written = yield* sql.unsafe(WRITE_FALLEN, [RETRY_HOURS])
          yield* sql.unsafe(MARK_WATCHED)
          return written.length
        }).pipe(transact, withSql)
    }
  })
)

const IS_WATCHING = `e.enabled AND (
  'plan.exhausted' = ANY (e.events) OR 'balance.low' = ANY (e.events)
    AND num_nonnulls(e.quota_below_usd_micro, e.payg_below_usd_micro, e.plan_below_tokens) > 0)
  AND (e.reseller_id IS NULL OR EXISTS (SELECT FROM reseller r WHERE r.id = e.reseller_id AND r.status = 'active'))`

/** Begins a round if an endpoint watches balances, and if no node runs a round or has run one within the interval. */
const TAKE_TURN = `
  UPDATE webhook_watch SET checked_at = statement_timestamp() WHERE singleton IN (
    SELECT singleton FROM webhook_watch
    WHERE checked_at <= statement_timestamp() - make_interval(secs => $1)
      AND EXISTS (SELECT FROM webhook_endpoint e WHERE ${IS_WATCHING})
    FOR UPDATE SKIP LOCKED)
  RETURNING 1`

/** Locks the endpoints, so that none is deleted before the events for it are written. */
const LOCK_WATCHING = `SELECT FROM webhook_endpoint e WHERE ${IS_WATCHING} FOR KEY SHARE`

const WATCHING = `${THRESHOLDS} AND ${IS_WATCHING}`

const FORGET_RECOVERED = `
  DELETE FROM webhook_low_balance l USING (${WATCHING}) AS watching, account a
  WHERE l.endpoint_id = watching.endpoint_id AND l.measure = watching.measure AND a.id = l.account_id
    AND ${REMAINING} >= watching.threshold`

const LOW_COLUMNS = `watching.endpoint_id, watching.measure, watching.watched, watching.threshold, a.id AS account_id,
      a.reseller_id, a.user_id, a.model_id, a.credits_posted, ${REMAINING} AS remaining`

/** Each branch names the kind of its accounts, so that Postgres can use the partial indexes of the accounts. */
const lowOf = (kind: "payg" | "plan", measures: string) => `
    SELECT ${LOW_COLUMNS} FROM watching JOIN account a ON a.kind = '${kind}' AND ${REMAINING} < watching.threshold
    WHERE watching.measure IN (${measures}) AND watching.reseller_id IS NULL
    UNION ALL
    SELECT ${LOW_COLUMNS} FROM watching JOIN reseller_customer c ON c.reseller_id = watching.reseller_id
      JOIN account a ON a.kind = '${kind}' AND a.user_id = c.user_id AND ${REMAINING} < watching.threshold
    WHERE watching.measure IN (${measures})`

const MICRO = (amount: string, measure = "fallen.measure") =>
  `CASE ${measure} WHEN 'reseller_quota' THEN ${amount} WHEN 'payg' THEN ${amount} / 1000000 END::text`
const TOKENS = (amount: string) => `CASE WHEN fallen.measure = 'plan' THEN ${amount} END::text`

/**
 * Two kinds of low balances are recorded here without an event, because they have not fallen: balances that are low
 * when the endpoint begins to watch, and balances of accounts whose credits have never reached the threshold.
 */
const WRITE_FALLEN = `
  WITH watching AS MATERIALIZED (${WATCHING}),
  low AS (
    SELECT ${LOW_COLUMNS} FROM watching
      JOIN account a ON a.kind = 'reseller_quota' AND ${REMAINING} < watching.threshold
        AND (watching.reseller_id IS NULL OR a.reseller_id = watching.reseller_id)
    WHERE watching.measure = 'reseller_quota'
    UNION ALL ${lowOf("payg", "'payg'")}
    UNION ALL ${lowOf("plan", "'plan', 'plan_exhausted'")}
  ), fallen AS MATERIALIZED (
    SELECT low.*, gen_random_uuid() AS event_id, statement_timestamp() AS at FROM low
    WHERE NOT EXISTS (SELECT FROM webhook_low_balance l WHERE l.endpoint_id = low.endpoint_id
      AND l.measure = low.measure AND l.account_id = low.account_id)
  ), remembered AS (
    INSERT INTO webhook_low_balance (endpoint_id, measure, account_id)
    SELECT endpoint_id, measure, account_id FROM fallen
  ), event AS (
    INSERT INTO webhook_event (id, type, data, created_at)
    SELECT fallen.event_id,
      CASE fallen.measure WHEN 'plan_exhausted' THEN 'plan.exhausted' ELSE 'balance.low' END,
      jsonb_strip_nulls(jsonb_build_object(
        'balance', CASE WHEN fallen.measure <> 'plan_exhausted' THEN fallen.measure END,
        'reseller_id', fallen.reseller_id,
        'user_id', fallen.user_id,
        'model', m.public_name,
        'remaining_usd_micro', ${MICRO("fallen.remaining")},
        'threshold_usd_micro', ${MICRO("fallen.threshold")},
        'remaining_tokens', ${TOKENS("fallen.remaining")},
        'threshold_tokens', ${TOKENS("fallen.threshold")},
        'purchased_tokens', CASE WHEN fallen.model_id IS NOT NULL THEN fallen.credits_posted END::text)),
      fallen.at
    FROM fallen LEFT JOIN model m ON m.id = fallen.model_id
    WHERE fallen.watched AND fallen.credits_posted >= fallen.threshold)
  INSERT INTO webhook_delivery (id, event_id, endpoint_id, created_at, next_attempt_at, expires_at)
  SELECT gen_random_uuid(), fallen.event_id, fallen.endpoint_id, fallen.at, fallen.at,
    fallen.at + make_interval(hours => $1)
  FROM fallen WHERE fallen.watched AND fallen.credits_posted >= fallen.threshold
  RETURNING 1`

const MARK_WATCHED = `UPDATE webhook_endpoint e SET watched = true WHERE NOT e.watched AND ${IS_WATCHING}`
