/**
 * Creates the tables for resellers and for their quota, top-up orders, mints and customers.
 *
 * The constraints keep the payment instructions of an order unchanged, and allow only the defined status changes. They
 * reject an order or a mint that refers to a missing transfer. The audit checks the invariants that span several rows.
 */
export const resellerProgramme = /* sql */ `
-- Refuses a change. The argument of the trigger is the last part of the error text.
CREATE FUNCTION refuse_because() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% %: %', TG_TABLE_NAME, OLD.id, TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$;

-- Resellers -----------------------------------------------------------------------------------------------------

CREATE TABLE reseller (
  id uuid PRIMARY KEY,
  email text NOT NULL UNIQUE CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 254),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  wa_number text NOT NULL CHECK (wa_number ~ '^[0-9]{7,15}$'),
  -- PHC string: algorithm, parameters, salt and hash. The password is not stored.
  password_hash text NOT NULL CHECK (password_hash LIKE '$%$%'),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'active', 'rejected', 'suspended')),
  token_version int NOT NULL DEFAULT 0 CHECK (token_version >= 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX reseller_by_time ON reseller (created_at DESC, id DESC);
CREATE INDEX reseller_by_status ON reseller (status, created_at DESC, id DESC);

-- The id, the email address and the creation time of a reseller never change.
CREATE TRIGGER identity_stays BEFORE UPDATE ON reseller FOR EACH ROW
  WHEN ((NEW.id, NEW.email, NEW.created_at) IS DISTINCT FROM (OLD.id, OLD.email, OLD.created_at))
  EXECUTE FUNCTION refuse_because('the id, the email address and the creation time must not change');
-- The status of a reseller changes only in these ways.
CREATE TRIGGER status_moves BEFORE UPDATE ON reseller FOR EACH ROW
  WHEN (NEW.status <> OLD.status AND (OLD.status, NEW.status) NOT IN (('pending', 'active'), ('pending', 'rejected'),
    ('rejected', 'active'), ('active', 'suspended'), ('suspended', 'active')))
  EXECUTE FUNCTION refuse_because('this change of the status is not allowed');
-- The token version never decreases, and a suspension increases it. Otherwise tokens that were issued before a
-- suspension would become valid again.
CREATE TRIGGER tokens_end BEFORE UPDATE ON reseller FOR EACH ROW
  WHEN (NEW.token_version < OLD.token_version
    OR (OLD.status = 'active' AND NEW.status = 'suspended' AND NEW.token_version = OLD.token_version))
  EXECUTE FUNCTION refuse_because('the token version must not decrease, and a suspension must increase it');
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON reseller FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A pattern is an email address, or @ followed by a domain.
CREATE TABLE email_blacklist (
  pattern text PRIMARY KEY CHECK (pattern = lower(pattern) AND length(pattern) BETWEEN 3 AND 254 AND pattern LIKE '%@_%'),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A row allows the reseller to create API keys that spend the user's balance.
CREATE TABLE reseller_customer (
  reseller_id uuid NOT NULL REFERENCES reseller,
  user_id uuid NOT NULL REFERENCES app_user,
  linked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (reseller_id, user_id)
);
CREATE INDEX reseller_customer_by_user ON reseller_customer (user_id);

-- Recent attempts, such as logins and signups. They cover at most the last hour, so a crash may lose them.
CREATE UNLOGGED TABLE login_window (
  key text PRIMARY KEY CHECK (length(key) BETWEEN 1 AND 400),
  hits timestamptz[] NOT NULL DEFAULT '{}' CHECK (cardinality(hits) <= 1000),
  -- Time after which no attempt in this row counts.
  counts_until timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);
CREATE INDEX login_window_by_end ON login_window (counts_until);

-- Quota ---------------------------------------------------------------------------------------------------------

ALTER TABLE account
  ADD COLUMN reseller_id uuid REFERENCES reseller,
  DROP CONSTRAINT account_shape,
  ADD CONSTRAINT account_shape CHECK (CASE kind
    WHEN 'payg' THEN unit = 'usd_pico' AND user_id IS NOT NULL AND model_id IS NULL AND reseller_id IS NULL
    WHEN 'plan' THEN unit = 'token' AND user_id IS NOT NULL AND model_id IS NOT NULL AND reseller_id IS NULL
      AND credits_posted <= 9007199254740991
    -- A mint debits the quota immediately, so no quota is ever pending.
    WHEN 'reseller_quota' THEN unit = 'usd_micro' AND user_id IS NULL AND model_id IS NULL AND reseller_id IS NOT NULL
      AND debits_pending = 0
    -- System accounts store no balance. Otherwise every transfer would have to lock the row of its system account.
    WHEN 'system' THEN user_id IS NULL AND model_id IS NULL AND reseller_id IS NULL
      AND credits_posted = 0 AND debits_posted = 0 AND debits_pending = 0
    ELSE false END);
CREATE UNIQUE INDEX account_quota ON account (reseller_id) WHERE kind = 'reseller_quota';

DROP TRIGGER only_grows ON account;
CREATE TRIGGER only_grows BEFORE UPDATE ON account FOR EACH ROW
  WHEN (NEW.credits_posted < OLD.credits_posted OR NEW.debits_posted < OLD.debits_posted
    OR NEW.id <> OLD.id OR NEW.kind <> OLD.kind OR NEW.unit <> OLD.unit
    OR NEW.user_id IS DISTINCT FROM OLD.user_id OR NEW.model_id IS DISTINCT FROM OLD.model_id
    OR NEW.reseller_id IS DISTINCT FROM OLD.reseller_id)
  EXECUTE FUNCTION refuse_shrinking();

-- The tables topup_order and mint refer to this key.
ALTER TABLE transfer ADD UNIQUE (code, ref, amount);

-- Top-ups -------------------------------------------------------------------------------------------------------

-- No two stored orders have the same deposit index, because a deposit address is derived from each index.
CREATE SEQUENCE topup_deposit_index AS int;

CREATE TABLE topup_order (
  id uuid PRIMARY KEY,
  reseller_id uuid NOT NULL REFERENCES reseller,
  method text NOT NULL CHECK (method IN ('qris', 'hosted_qris', 'crypto', 'crypto_bep20')),
  provider text NOT NULL CHECK (length(provider) BETWEEN 1 AND 100),
  simulated boolean NOT NULL,
  amount_idr bigint,
  fee_idr bigint,
  total_idr bigint,
  token_kind text CHECK (token_kind IN ('usdt', 'usdc')),
  quota_usd_micro bigint NOT NULL CHECK (quota_usd_micro > 0),
  deposit_index int UNIQUE CHECK (deposit_index > 0),
  -- Time in whole milliseconds, like every time that a decision about an order uses.
  created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp()),

  provision_state text NOT NULL DEFAULT 'creating' CHECK (provision_state IN ('creating', 'ready', 'abandoned')),
  abandoned_because text,
  provider_payment_id text,
  instructions jsonb,
  provider_state jsonb,
  expires_at timestamptz,

  status text CHECK (status IN ('pending', 'crediting', 'credited', 'expired', 'failed')),
  -- 78 digits are enough for a 256-bit number, so every token amount of a chain can be stored.
  received_raw numeric(78, 0) CHECK (received_raw >= 0),
  received_usd_micro numeric(78, 0) CHECK (received_usd_micro >= 0),
  evidence jsonb NOT NULL DEFAULT '{"transactions": [], "remarks": []}',
  paid_at timestamptz,
  credited_at timestamptz,
  checked_at timestamptz,
  -- Time at which the next background refresh is due.
  next_look_at timestamptz,

  UNIQUE (provider, provider_payment_id),
  CONSTRAINT topup_amounts CHECK (CASE WHEN method IN ('qris', 'hosted_qris')
    THEN num_nulls(amount_idr, fee_idr, total_idr) = 0 AND amount_idr > 0 AND quota_usd_micro = amount_idr * 100
      AND total_idr = amount_idr + fee_idr AND fee_idr = CASE method WHEN 'qris' THEN (amount_idr * 5 + 99) / 100 ELSE 0 END
      AND token_kind IS NULL
    ELSE num_nonnulls(amount_idr, fee_idr, total_idr) = 0 AND token_kind IS NOT NULL END),
  CONSTRAINT topup_provision CHECK (CASE provision_state
    WHEN 'ready' THEN abandoned_because IS NULL AND status IS NOT NULL
      AND num_nulls(provider_payment_id, instructions, provider_state, expires_at) = 0
    ELSE (provision_state = 'abandoned') = (abandoned_because IS NOT NULL)
      AND num_nonnulls(provider_payment_id, instructions, provider_state, expires_at, status, received_raw,
        received_usd_micro, paid_at, credited_at, checked_at, next_look_at) = 0 END),
  CONSTRAINT topup_instructions CHECK (instructions IS NULL OR (instructions ->> '_tag') IS NOT DISTINCT FROM CASE method
    WHEN 'qris' THEN 'Qris' WHEN 'hosted_qris' THEN 'HostedQris' WHEN 'crypto' THEN 'Crypto' ELSE 'Bep20' END),
  CONSTRAINT topup_bep20 CHECK (method <> 'crypto_bep20' OR instructions IS NULL OR (
    (instructions ->> 'expectedRaw')::numeric = quota_usd_micro::numeric * 1000000000000
    AND instructions ->> 'tokenKind' = token_kind AND length(instructions ->> 'depositAddress') > 0) IS TRUE),
  CONSTRAINT topup_paid CHECK (status IS NULL OR (status IN ('crediting', 'credited')) = (paid_at IS NOT NULL)),
  CONSTRAINT topup_credited CHECK (status IS NULL OR (status = 'credited') = (credited_at IS NOT NULL)),
  CONSTRAINT topup_done CHECK (credited_at IS NULL OR next_look_at IS NULL),

  -- These columns refer to the transfer of the quota. They are null until the order is credited.
  credited_code text GENERATED ALWAYS AS (CASE WHEN status = 'credited' THEN 'topup' END) STORED,
  credited_ref text GENERATED ALWAYS AS (CASE WHEN status = 'credited' THEN id::text END) STORED,
  CONSTRAINT topup_transferred FOREIGN KEY (credited_code, credited_ref, quota_usd_micro)
    REFERENCES transfer (code, ref, amount)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX topup_order_deposit_address ON topup_order (lower(instructions ->> 'depositAddress'))
  WHERE method = 'crypto_bep20';
CREATE INDEX topup_order_of_reseller ON topup_order (reseller_id, created_at DESC, id DESC) WHERE provision_state = 'ready';
CREATE INDEX topup_order_by_time ON topup_order (created_at DESC, id DESC) WHERE provision_state = 'ready';
CREATE INDEX topup_order_by_status ON topup_order (status, created_at DESC, id DESC) WHERE provision_state = 'ready';
CREATE INDEX topup_order_due ON topup_order (next_look_at) WHERE next_look_at IS NOT NULL;
CREATE INDEX topup_order_creating ON topup_order (created_at) WHERE provision_state = 'creating';

-- The terms of an order, such as the reseller, the payment method and the amounts, never change.
CREATE TRIGGER terms_stay BEFORE UPDATE ON topup_order FOR EACH ROW
  WHEN ((NEW.id, NEW.reseller_id, NEW.method, NEW.provider, NEW.simulated, NEW.amount_idr, NEW.fee_idr, NEW.total_idr,
      NEW.token_kind, NEW.quota_usd_micro, NEW.deposit_index, NEW.created_at)
    IS DISTINCT FROM (OLD.id, OLD.reseller_id, OLD.method, OLD.provider, OLD.simulated, OLD.amount_idr, OLD.fee_idr,
      OLD.total_idr, OLD.token_kind, OLD.quota_usd_micro, OLD.deposit_index, OLD.created_at))
  EXECUTE FUNCTION refuse_because('the reseller, the payment method, the amounts and the other terms of the order must not change');
-- The payment instructions of an order never change after the order is ready or abandoned.
CREATE TRIGGER instructions_stay BEFORE UPDATE ON topup_order FOR EACH ROW
  WHEN (OLD.provision_state <> 'creating'
    AND (NEW.provision_state, NEW.abandoned_because, NEW.provider_payment_id, NEW.instructions, NEW.provider_state,
      NEW.expires_at)
    IS DISTINCT FROM (OLD.provision_state, OLD.abandoned_because, OLD.provider_payment_id, OLD.instructions,
      OLD.provider_state, OLD.expires_at))
  EXECUTE FUNCTION refuse_because('the payment and its instructions must not change after the order is ready or abandoned');
-- The status of an order changes only in these ways. A draft has no status.
CREATE TRIGGER status_moves BEFORE UPDATE ON topup_order FOR EACH ROW
  WHEN (NEW.status IS DISTINCT FROM OLD.status
    AND (coalesce(OLD.status, 'draft'), coalesce(NEW.status, 'draft')) NOT IN (('draft', 'pending'),
      ('pending', 'crediting'), ('pending', 'expired'), ('pending', 'failed'),
      ('expired', 'crediting'), ('failed', 'crediting'), ('crediting', 'credited')))
  EXECUTE FUNCTION refuse_because('this change of the status is not allowed');
-- The received amounts never decrease. The times of payment and credit never change.
CREATE TRIGGER received_grows BEFORE UPDATE ON topup_order FOR EACH ROW
  WHEN (coalesce(NEW.received_raw, -1) < coalesce(OLD.received_raw, -1)
    OR coalesce(NEW.received_usd_micro, -1) < coalesce(OLD.received_usd_micro, -1)
    OR (OLD.paid_at IS NOT NULL AND NEW.paid_at IS DISTINCT FROM OLD.paid_at)
    OR (OLD.credited_at IS NOT NULL AND NEW.credited_at IS DISTINCT FROM OLD.credited_at))
  EXECUTE FUNCTION refuse_because('the received amounts must not decrease, and the times of payment and credit must not change');
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON topup_order FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Tiers and mints -----------------------------------------------------------------------------------------------

ALTER TABLE tier ADD UNIQUE (id, model_id);
-- The model and the price of a tier never change.
CREATE TRIGGER identity_stays BEFORE UPDATE ON tier FOR EACH ROW
  WHEN ((NEW.id, NEW.model_id, NEW.tier_usd_cents) IS DISTINCT FROM (OLD.id, OLD.model_id, OLD.tier_usd_cents))
  EXECUTE FUNCTION refuse_because('the id, the model and the price must not change');

-- One row per mint, with the result that the reseller received. A row never changes.
CREATE TABLE mint (
  id uuid PRIMARY KEY,
  reseller_id uuid NOT NULL REFERENCES reseller,
  operation_id text NOT NULL CHECK (length(operation_id) BETWEEN 1 AND 128),
  fingerprint text NOT NULL CHECK (length(fingerprint) BETWEEN 1 AND 1000),
  customer_user_id uuid NOT NULL REFERENCES app_user,
  model_id uuid NOT NULL,
  plan_tier_id uuid NOT NULL,
  granted_tokens bigint NOT NULL CHECK (granted_tokens > 0),
  price_usd_micro bigint NOT NULL CHECK (price_usd_micro > 0),
  balance_after bigint NOT NULL CHECK (balance_after >= 0),
  minted_at timestamptz NOT NULL,
  pay_code text NOT NULL GENERATED ALWAYS AS ('mint_pay') STORED,
  grant_code text NOT NULL GENERATED ALWAYS AS ('mint_grant') STORED,
  ref text NOT NULL GENERATED ALWAYS AS (id::text) STORED,
  UNIQUE (reseller_id, operation_id),
  FOREIGN KEY (plan_tier_id, model_id) REFERENCES tier (id, model_id),
  CONSTRAINT mint_paid FOREIGN KEY (pay_code, ref, price_usd_micro) REFERENCES transfer (code, ref, amount),
  CONSTRAINT mint_granted FOREIGN KEY (grant_code, ref, granted_tokens) REFERENCES transfer (code, ref, amount)
);
CREATE INDEX mint_by_time ON mint (reseller_id, minted_at DESC);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON mint FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Usage ---------------------------------------------------------------------------------------------------------

-- The index for the usage list of resellers. The list and the index omit requests without charged tokens.
DROP INDEX settlement_of_user;
CREATE INDEX settlement_usage ON settlement (user_id, settled_at DESC, request_id DESC)
  WHERE charged_input + charged_cache_write + charged_cache_read + charged_output > 0;
`
