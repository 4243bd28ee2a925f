/**
 * Creates the tables of outgoing webhooks: endpoints, events, deliveries, and the balances that are below a threshold.
 *
 * The migration changes no existing table. A server of an earlier release ignores the new tables: it writes and
 * delivers no events.
 */
export const webhooks = /* sql */ `
CREATE TABLE webhook_endpoint (
  id uuid PRIMARY KEY,
  -- Null for an endpoint of the operator.
  reseller_id uuid REFERENCES reseller,
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2000),
  events text[] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 50),
  enabled boolean NOT NULL,
  quota_below_usd_micro bigint CHECK (quota_below_usd_micro BETWEEN 1 AND 1000000000000),
  payg_below_usd_micro bigint CHECK (payg_below_usd_micro BETWEEN 1 AND 1000000000000),
  plan_below_tokens bigint CHECK (plan_below_tokens BETWEEN 1 AND 1000000000000),
  -- False from the creation or a change of the endpoint until a round of the balance watch has recorded, without
  -- events, which balances are already low.
  watched boolean NOT NULL DEFAULT false,
  -- AES-256-GCM: nonce, ciphertext and tag. The version names the pepper from which the key is derived.
  secret bytea NOT NULL,
  secret_version int NOT NULL,
  previous_secret bytea,
  previous_secret_version int,
  previous_secret_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT webhook_endpoint_previous CHECK (
    num_nulls(previous_secret, previous_secret_version, previous_secret_until) IN (0, 3))
);
CREATE INDEX webhook_endpoint_of_reseller ON webhook_endpoint (reseller_id);

CREATE TABLE webhook_event (
  id uuid PRIMARY KEY,
  type text NOT NULL CHECK (length(type) BETWEEN 1 AND 100),
  data jsonb NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX webhook_event_by_time ON webhook_event (created_at);

CREATE TABLE webhook_delivery (
  id uuid PRIMARY KEY,
  event_id uuid NOT NULL REFERENCES webhook_event ON DELETE CASCADE,
  endpoint_id uuid NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  created_at timestamptz NOT NULL,
  -- During an attempt, the end of its lease.
  next_attempt_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The claim of the current attempt; null if there is none. A result is recorded only for this claim.
  lease_id uuid,
  last_attempt_at timestamptz,
  last_status int CHECK (last_status BETWEEN 100 AND 999),
  last_failure text
) WITH (fillfactor = 80);
CREATE INDEX webhook_delivery_due ON webhook_delivery (endpoint_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_delivery_of_endpoint ON webhook_delivery (endpoint_id, created_at DESC, id DESC);
CREATE INDEX webhook_delivery_of_event ON webhook_delivery (event_id);

-- The balances that the balance watch last found below a threshold of an endpoint. There is no foreign key to account:
-- it would lock rows that the ledger writes, and no account is ever deleted.
CREATE TABLE webhook_low_balance (
  endpoint_id uuid NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
  measure text NOT NULL CHECK (measure IN ('reseller_quota', 'payg', 'plan', 'plan_exhausted')),
  account_id uuid NOT NULL,
  PRIMARY KEY (endpoint_id, measure, account_id)
);

-- The time of the last round of the balance watch, on any node.
CREATE TABLE webhook_watch (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  checked_at timestamptz NOT NULL
);
INSERT INTO webhook_watch (checked_at) VALUES ('epoch');
`
