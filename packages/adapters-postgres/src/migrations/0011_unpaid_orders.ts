/**
 * Adds an index for the unpaid orders of a reseller, which are counted before each new order.
 */
export const unpaidOrders = /* sql */ `
CREATE INDEX topup_order_unpaid ON topup_order (reseller_id, expires_at)
  WHERE provision_state = 'creating' OR status = 'pending';
`
