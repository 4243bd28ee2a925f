/**
 * What must be true of stored image requests and their reviews, beside what is true of every settlement.
 */
import type { Invariant } from "./LedgerInvariants.ts"

const IN_REVIEW = "('unmetered', 'timeout', 'withheld', 'abandoned')"

export const imageInvariants: ReadonlyArray<Invariant> = [
  {
    id: "images-are-accounted",
    invariant: "An image request that has ended is settled; one that runs is held, or settled for its dead node.",
    violations: `SELECT count(*) FROM image_request i
      LEFT JOIN settlement s ON s.request_id = i.request_id AND s.protocol = 'images' AND s.user_id = i.user_id
      LEFT JOIN inference_hold h ON h.request_id = i.request_id AND h.protocol = 'images' AND h.user_id = i.user_id
      WHERE (CASE WHEN i.state = 'running' THEN coalesce(s.request_id, h.request_id) ELSE s.request_id END) IS NULL`
  },
  {
    id: "images-are-requested",
    invariant: "Every hold and settlement of an image belongs to an image request.",
    violations: `SELECT count(*) FROM (
        SELECT request_id FROM settlement WHERE protocol = 'images'
        UNION ALL SELECT request_id FROM inference_hold WHERE protocol = 'images') AS images
      WHERE NOT EXISTS (SELECT FROM image_request i WHERE i.request_id = images.request_id)`
  },
  {
    id: "images-cost-when-settled",
    invariant: "A settled image was metered, and any other cost nothing and used no plan.",
    violations: `SELECT count(*) FROM image_request i JOIN settlement s USING (request_id)
      WHERE CASE i.state WHEN 'settled' THEN s.ending <> 'complete' OR s.usage_source <> 'upstream'
        ELSE s.usage_source <> 'none' OR s.cost_pico <> 0 OR s.plan_tokens <> 0 END`
  },
  {
    id: "no-forgotten-images",
    invariant: "No image request runs on more than ten minutes after its lease has passed.",
    violations: `SELECT count(*) FROM image_request
      WHERE state = 'running' AND lease_until < clock_timestamp() - interval '10 minutes'`
  },
  {
    id: "images-are-reviewed",
    invariant: "An image request is in the queue exactly when its state says so, and for that reason.",
    violations: `SELECT count(*) FROM image_request i LEFT JOIN image_review r USING (request_id)
      WHERE r.reason IS DISTINCT FROM CASE WHEN i.state IN ${IN_REVIEW} THEN i.state END`
  },
  {
    id: "image-charges-are-resolved",
    invariant: "A review that was charged moved its amount from its user's balance, once, and nothing else did.",
    violations: `SELECT count(*) FROM (
        SELECT r.request_id::text AS ref, r.charged_usd_micro::numeric * 1000000 AS amount, a.id AS debit_account
        FROM image_review r JOIN image_request i USING (request_id)
        LEFT JOIN account a ON a.kind = 'payg' AND a.user_id = i.user_id WHERE r.resolution = 'charged') AS charged
      FULL JOIN (SELECT ref, amount, debit_account FROM transfer WHERE code = 'image_charge') AS moved USING (ref)
      WHERE moved.amount IS DISTINCT FROM charged.amount OR moved.debit_account IS DISTINCT FROM charged.debit_account`
  },
  {
    id: "resolutions-are-logged",
    invariant: "Every resolution of a review stands in the audit log, with its amount.",
    violations: `SELECT count(*) FROM image_review r WHERE r.resolution IS NOT NULL AND NOT EXISTS (
      SELECT FROM audit_log l WHERE l.subject = r.request_id::text
        AND l.action = CASE r.resolution WHEN 'waived' THEN 'image.waive' ELSE 'image.charge' END
        AND l.detail ->> 'usd_micro' IS NOT DISTINCT FROM r.charged_usd_micro::text)`
  }
]
