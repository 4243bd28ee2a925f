/**
 * Adds the operation id of a top-up order, with which a reseller can repeat the request that creates the order. A
 * server of an earlier release creates orders without an operation id.
 */
export const topUpOperations = /* sql */ `
ALTER TABLE topup_order ADD COLUMN operation_id text CHECK (length(operation_id) BETWEEN 1 AND 128);

-- The operation id of an abandoned draft can be used again.
CREATE UNIQUE INDEX topup_order_operation ON topup_order (reseller_id, operation_id)
  WHERE operation_id IS NOT NULL AND provision_state <> 'abandoned';

CREATE TRIGGER operation_stays BEFORE UPDATE ON topup_order FOR EACH ROW
  WHEN (NEW.operation_id IS DISTINCT FROM OLD.operation_id)
  EXECUTE FUNCTION refuse_because('the operation id must not change');
`
