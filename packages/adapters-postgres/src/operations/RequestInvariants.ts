/**
 * Lists the invariants of holds, settlements, models, image requests, limited keys and usage roll-ups. Each invariant
 * has a sentence, and a query that counts the rows that violate the invariant.
 *
 * Roll-ups contain no money. The command `tollgate rankings rebuild` corrects them.
 */
import { wrongSpeeds, wrongTokens } from "../rankings/UsageCells.ts"
import type { Invariant } from "./AccountInvariants.ts"

const IN_REVIEW = "('unmetered', 'timeout', 'withheld', 'abandoned')"

const SPEEDS_FROM = "cell_of('day', now()) - interval '7 days'"

export const requestInvariants: ReadonlyArray<Invariant> = [
  {
    id: "settlements-add-up",
    invariant: "The plan value, the pay-as-you-go amount and the write-off of a settlement add up to its cost.",
    violations: "SELECT count(*) FROM settlement WHERE plan_value_pico + payg_pico + writeoff_pico <> cost_pico"
  },
  {
    id: "cost-is-price",
    invariant:
      "The cost of a settlement is the cost of its charged tokens at its price, and the price belongs to its model.",
    violations: `SELECT count(*) FROM settlement s LEFT JOIN price p ON p.id = s.price_id AND p.model_id = s.model_id
      WHERE s.cost_pico IS DISTINCT FROM s.charged_input * p.input + s.charged_cache_write * p.cache_write
        + s.charged_cache_read * p.cache_read + s.charged_output * p.output`
  },
  {
    id: "failed-is-free",
    invariant: "A failed request costs nothing and uses no plan.",
    violations: "SELECT count(*) FROM settlement WHERE ending = 'failed' AND (cost_pico <> 0 OR plan_tokens <> 0)"
  },
  {
    id: "charges-have-sources",
    invariant: "A settlement without a usage source charges no tokens.",
    violations: `SELECT count(*) FROM settlement WHERE usage_source = 'none'
      AND charged_input + charged_cache_write + charged_cache_read + charged_output <> 0`
  },
  {
    id: "charged-was-consumed",
    invariant: "No settlement charges more tokens than the provider is known to have used.",
    violations: `SELECT count(*) FROM settlement WHERE charged_input > consumed_input
      OR charged_cache_write > consumed_cache_write OR charged_cache_read > consumed_cache_read
      OR charged_output > consumed_output`
  },
  {
    id: "payers-are-owners",
    invariant:
      "A settlement is paid only from its user's plan for its model and from its user's pay-as-you-go balance.",
    violations: `SELECT count(*) FROM settlement s
      LEFT JOIN account plan ON plan.id = s.plan_account AND plan.kind = 'plan'
        AND plan.user_id = s.user_id AND plan.model_id = s.model_id
      LEFT JOIN account payg ON payg.id = s.payg_account AND payg.kind = 'payg' AND payg.user_id = s.user_id
      LEFT JOIN api_key k ON k.id = s.api_key_id AND k.user_id = s.user_id
      WHERE k.id IS NULL OR (s.plan_account IS NOT NULL AND plan.id IS NULL) OR (s.plan_account IS NULL AND s.plan_tokens <> 0)
        OR (s.payg_account IS NOT NULL AND payg.id IS NULL) OR (s.payg_account IS NULL AND s.payg_pico <> 0)`
  },
  {
    id: "holders-are-owners",
    invariant:
      "A hold sets aside only amounts of its user's plan for its model and of its user's pay-as-you-go balance.",
    violations: `SELECT count(*) FROM open_request h
      LEFT JOIN account plan ON plan.id = h.plan_account AND plan.kind = 'plan'
        AND plan.user_id = h.user_id AND plan.model_id = h.model_id
      LEFT JOIN account payg ON payg.id = h.payg_account AND payg.kind = 'payg' AND payg.user_id = h.user_id
      WHERE (h.plan_account IS NOT NULL AND plan.id IS NULL) OR (h.plan_account IS NULL AND h.plan_tokens <> 0)
        OR (h.payg_account IS NOT NULL AND payg.id IS NULL) OR (h.payg_account IS NULL AND h.payg_pico <> 0)`
  },
  {
    id: "holds-can-be-settled",
    invariant: "The API key of a hold belongs to its user, and the price of a hold belongs to its model.",
    violations: `SELECT count(*) FROM open_request h
      LEFT JOIN api_key k ON k.id = h.api_key_id AND k.user_id = h.user_id
      LEFT JOIN price p ON p.id = h.price_id AND p.model_id = h.model_id
      WHERE k.id IS NULL OR p.id IS NULL`
  },
  {
    id: "held-or-settled",
    invariant: "No request has both a hold and a settlement.",
    violations: "SELECT count(*) FROM open_request JOIN settlement USING (request_id)"
  },
  {
    id: "no-forgotten-holds",
    invariant: "No hold belongs to a node that has sent no heartbeat for more than ten minutes.",
    violations: `SELECT count(*) FROM open_request h LEFT JOIN gateway_node n ON n.id = h.node_id
      WHERE h.held_at < clock_timestamp() - interval '10 minutes'
        AND coalesce(least(n.beat_at, n.left_at), '-infinity') < clock_timestamp() - interval '10 minutes'`
  },
  {
    id: "models-have-prices",
    invariant: "The price of a model belongs to that model.",
    violations: `SELECT count(*) FROM model m LEFT JOIN price p ON p.id = m.price_id AND p.model_id = m.id
      WHERE p.id IS NULL`
  },
  {
    id: "images-are-accounted",
    invariant:
      "An ended image request has a settlement; a running image request has a hold, or a settlement if its node died.",
    violations: `SELECT count(*) FROM image_request i
      LEFT JOIN settlement s ON s.request_id = i.request_id AND s.protocol = 'images' AND s.user_id = i.user_id
      LEFT JOIN open_request h ON h.request_id = i.request_id AND h.protocol = 'images' AND h.user_id = i.user_id
      WHERE (CASE WHEN i.state = 'running' THEN coalesce(s.request_id, h.request_id) ELSE s.request_id END) IS NULL`
  },
  {
    id: "images-are-requested",
    invariant: "Every hold and settlement of an image belongs to an image request.",
    violations: `SELECT count(*) FROM (
        SELECT request_id FROM settlement WHERE protocol = 'images'
        UNION ALL SELECT request_id FROM open_request WHERE protocol = 'images') AS images
      WHERE NOT EXISTS (SELECT FROM image_request i WHERE i.request_id = images.request_id)`
  },
  {
    id: "images-cost-when-settled",
    invariant: "A settled image was metered; any other image request cost nothing and used no plan.",
    violations: `SELECT count(*) FROM image_request i JOIN settlement s USING (request_id)
      WHERE CASE i.state WHEN 'settled' THEN s.ending <> 'complete' OR s.usage_source <> 'upstream'
        ELSE s.usage_source <> 'none' OR s.cost_pico <> 0 OR s.plan_tokens <> 0 END`
  },
  {
    id: "no-forgotten-images",
    invariant: "No image request runs for more than ten minutes after its lease expired.",
    violations: `SELECT count(*) FROM image_request
      WHERE state = 'running' AND lease_until < clock_timestamp() - interval '10 minutes'`
  },
  {
    id: "images-are-reviewed",
    invariant:
      "An image request has a review if and only if its state requires one, and the state is the reason of the review.",
    violations: `SELECT count(*) FROM image_request i LEFT JOIN image_review r USING (request_id)
      WHERE r.reason IS DISTINCT FROM CASE WHEN i.state IN ${IN_REVIEW} THEN i.state END`
  },
  {
    id: "image-charges-are-resolved",
    invariant:
      "Every charged review has exactly one transfer of its amount from its user's balance, and there is no other image charge.",
    violations: `SELECT count(*) FROM (
        SELECT r.request_id::text AS ref, r.charged_usd_micro::numeric * 1000000 AS amount, a.id AS debit_account
        FROM image_review r JOIN image_request i USING (request_id)
        LEFT JOIN account a ON a.kind = 'payg' AND a.user_id = i.user_id WHERE r.resolution = 'charged') AS charged
      FULL JOIN (SELECT ref, amount, debit_account FROM transfer WHERE code = 'image_charge') AS moved USING (ref)
      WHERE moved.amount IS DISTINCT FROM charged.amount OR moved.debit_account IS DISTINCT FROM charged.debit_account`
  },
  {
    id: "limited-keys-add-up",
    invariant:
      "For every limited key, the pending amount is the sum of the amounts that its open requests set aside, and the number of open requests is their count.",
    violations: `WITH held AS (
        SELECT api_key_id, sum(key_pico) AS pico, count(*) AS requests FROM open_request
        WHERE key_tokens IS NOT NULL GROUP BY 1)
      SELECT count(*) FROM counted_key k
      JOIN api_key ON api_key.id = k.key_id AND api_key.counted
      LEFT JOIN held ON held.api_key_id = k.key_id
      WHERE coalesce(held.pico, 0) <> k.pending_pico OR coalesce(held.requests, 0) <> k.open_requests`
  },
  {
    id: "resolutions-are-logged",
    invariant: "The audit log contains every resolution of a review, with its amount.",
    violations: `SELECT count(*) FROM image_review r WHERE r.resolution IS NOT NULL AND NOT EXISTS (
      SELECT FROM audit_log l WHERE l.subject = r.request_id::text
        AND l.action = CASE r.resolution WHEN 'waived' THEN 'image.waive' ELSE 'image.charge' END
        AND l.detail ->> 'usd_micro' IS NOT DISTINCT FROM r.charged_usd_micro::text)`
  },
  {
    id: "usage-is-settled",
    invariant: "For every model, minute, hour and day, the counted tokens equal the tokens of the settlements.",
    violations: `SELECT count(*) FROM (
      ${wrongTokens({
        settled: "true",
        added: "true",
        cells: "(grain = 'day' OR start >= now() - interval '61 days')"
      })}) AS wrong`
  },
  {
    id: "speeds-are-settled",
    invariant:
      "For every model, minute, hour and day of the last week, the counted speeds equal the speeds of the settlements.",
    violations: `SELECT count(*) FROM (
      ${wrongSpeeds({
        settled: `settled_at >= ${SPEEDS_FROM}`,
        added: `minute >= ${SPEEDS_FROM}`,
        cells: `start >= ${SPEEDS_FROM}`
      })}) AS wrong`
  }
]
