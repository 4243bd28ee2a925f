/**
 * Lets the server find repeated payments: further payments to the deposit address of an order that has received a
 * payment already.
 *
 * An order whose method can receive further payments is refreshed for seven days after its credit. A payment provider
 * can record a repeated payment as a separate payment that refers to the first payment. The server then finds the order
 * by the id of the first payment, and stores the id of the repeated payment.
 */
export const secondPayments = /* sql */ `
ALTER TABLE topup_order
  DROP CONSTRAINT topup_done,
  ADD CONSTRAINT topup_done CHECK (credited_at IS NULL OR next_look_at IS NULL OR method IN ('crypto', 'crypto_bep20')),
  -- Provider ids of payments that, according to the provider, repeat a payment of this order. Ids are only added.
  ADD COLUMN repeated_payments text[] NOT NULL DEFAULT '{}' CHECK (cardinality(repeated_payments) <= 20);

CREATE INDEX topup_order_payment ON topup_order USING gin (string_to_array(provider_payment_id, ','))
  WHERE method = 'crypto';

-- An id is never removed from the repeated payments of an order.
CREATE TRIGGER repeated_payments_stay BEFORE UPDATE ON topup_order FOR EACH ROW
  WHEN (NOT NEW.repeated_payments @> OLD.repeated_payments)
  EXECUTE FUNCTION refuse_because('an id must not be removed from the repeated payments');

-- Orders that were credited in the last seven days become due. Before this migration, no order was refreshed after its
-- credit.
UPDATE topup_order SET next_look_at = clock_timestamp()
  WHERE method IN ('crypto', 'crypto_bep20') AND credited_at > clock_timestamp() - interval '7 days';
`
