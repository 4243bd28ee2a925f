/**
 * Records the low balances of a customer who is linked to a reseller. The table `webhook_low_balance` contains the
 * balances that are known to be low. The balance watch writes an event for every other low balance.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { UserId } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import * as Effect from "effect/Effect"

/**
 * Records the low balances of a customer for the endpoints of a reseller, without events, because they have not fallen.
 * Runs in the transaction that links the customer to the reseller.
 */
export const recordLowBalances = (
  resellerId: ResellerId,
  userId: UserId
): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(RECORD_LINKED, [resellerId, userId]))

/** One row for each threshold of each endpoint, in the unit of the account. */
export const THRESHOLDS = `
  SELECT e.id AS endpoint_id, e.reseller_id, e.watched, w.measure, w.threshold
  FROM webhook_endpoint e CROSS JOIN LATERAL (VALUES
    ('reseller_quota', CASE WHEN 'balance.low' = ANY (e.events) THEN e.quota_below_usd_micro END),
    ('payg', CASE WHEN 'balance.low' = ANY (e.events) THEN e.payg_below_usd_micro * 1000000 END),
    ('plan', CASE WHEN 'balance.low' = ANY (e.events) THEN e.plan_below_tokens END),
    ('plan_exhausted', CASE WHEN 'plan.exhausted' = ANY (e.events) THEN 1 END)) AS w (measure, threshold)
  WHERE w.threshold IS NOT NULL`

/** The settled balance of an account `a`. */
export const REMAINING = "a.credits_posted - a.debits_posted"

/** Without the lock, the link would fail if an endpoint were deleted at the same time. */
const RECORD_LINKED = `
  WITH locked AS MATERIALIZED (SELECT id FROM webhook_endpoint WHERE reseller_id = $1 FOR KEY SHARE)
  INSERT INTO webhook_low_balance (endpoint_id, measure, account_id)
  SELECT endpoint.endpoint_id, endpoint.measure, a.id
  FROM (${THRESHOLDS} AND e.id IN (SELECT id FROM locked)) AS endpoint
    JOIN account a ON a.user_id = $2 AND ${REMAINING} < endpoint.threshold
      AND a.kind = CASE endpoint.measure WHEN 'plan_exhausted' THEN 'plan' ELSE endpoint.measure END
  ON CONFLICT DO NOTHING`
