/**
 * Adds an index for the list of flagged orders, which also contains the orders with a remark. Servers of an earlier
 * release list flagged orders without them, with the index `topup_order_flagged`.
 */
export const remarkedTopUps = /* sql */ `
CREATE INDEX topup_order_to_inspect ON topup_order (created_at DESC, id DESC)
  WHERE provision_state = 'ready' AND (paid_at > expires_at
    OR paid_at IS NULL AND status <> 'pending' AND coalesce(div(received_raw, 1000000000000), received_usd_micro) > 0
    OR coalesce(div(received_raw, 1000000000000), received_usd_micro) > quota_usd_micro
    OR evidence -> 'remarks' <> '[]');
`
