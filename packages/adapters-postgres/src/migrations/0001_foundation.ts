/**
 * Creates the tables for users, API keys, the catalog, the ledger, holds and settlements.
 *
 * The constraints reject impossible states: a negative balance, a stored balance of a system account, a transfer
 * between units, a cost that differs from the sum of its parts, a change to a journal. They are a second check: the
 * domain applies the rules before a row is written.
 */
export const foundation = /* sql */ `
-- Users and keys ------------------------------------------------------------------------------------------------

CREATE TABLE app_user (
  id uuid PRIMARY KEY,
  email text NOT NULL UNIQUE CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 254),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'blocked')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE api_key (
  id uuid PRIMARY KEY,
  public_id text NOT NULL UNIQUE CHECK (public_id ~ '^[0-9A-Za-z]{16}$'),
  user_id uuid NOT NULL REFERENCES app_user,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  -- HMAC-SHA-256 of the API key. The secret of the HMAC is a pepper. The API key itself is not stored. Every release
  -- writes 1 into pepper_version. Migration 0018 adds the name of the pepper.
  secret_mac bytea NOT NULL CHECK (octet_length(secret_mac) = 32),
  pepper_version smallint NOT NULL CHECK (pepper_version > 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz CHECK (revoked_at >= created_at),
  UNIQUE (id, user_id)
);
CREATE INDEX api_key_of_user ON api_key (user_id);

-- The catalog ---------------------------------------------------------------------------------------------------

CREATE TABLE catalog_state (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  version bigint NOT NULL CHECK (version >= 0)
);
INSERT INTO catalog_state (version) VALUES (0);

CREATE TABLE provider (
  name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 200),
  base_url text NOT NULL CHECK (base_url ~ '^https?://'),
  api_key_env text NOT NULL,
  auth text NOT NULL CHECK (auth IN ('bearer', 'x-api-key')),
  protocols text[] NOT NULL CHECK (cardinality(protocols) > 0 AND protocols <@ ARRAY['chat', 'messages', 'responses', 'images']),
  max_concurrency int NOT NULL CHECK (max_concurrency > 0),
  first_byte_millis int NOT NULL CHECK (first_byte_millis > 0),
  idle_millis int NOT NULL CHECK (idle_millis > 0),
  total_millis int NOT NULL CHECK (total_millis > 0),
  breaker_failures int NOT NULL CHECK (breaker_failures > 0),
  breaker_window_millis int NOT NULL CHECK (breaker_window_millis > 0),
  breaker_open_millis int NOT NULL CHECK (breaker_open_millis > 0),
  retired boolean NOT NULL DEFAULT false
);

CREATE TABLE model (
  id uuid PRIMARY KEY,
  public_name text NOT NULL UNIQUE,
  display_name text NOT NULL,
  author text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('text', 'image')),
  discovery_rank int NOT NULL,
  hidden boolean NOT NULL,
  capabilities text[] NOT NULL CHECK (capabilities <@ ARRAY['generate', 'edit']),
  -- A retired model cannot be called, but keeps its history and its customers' plans.
  retired boolean NOT NULL DEFAULT false,
  price_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK ((kind = 'image') = (cardinality(capabilities) > 0))
);

-- Prices in pico-USD per token, the same integer as micro-USD per million tokens. A price row never changes: a new
-- price is a new row, and a model that returns to an earlier price uses the earlier row.
CREATE TABLE price (
  id uuid PRIMARY KEY,
  model_id uuid NOT NULL REFERENCES model,
  input bigint NOT NULL CHECK (input BETWEEN 0 AND 1000000000),
  cache_write bigint NOT NULL CHECK (cache_write BETWEEN 0 AND 1000000000),
  cache_read bigint NOT NULL CHECK (cache_read BETWEEN 0 AND 1000000000),
  output bigint NOT NULL CHECK (output BETWEEN 0 AND 1000000000),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (id, model_id),
  UNIQUE (model_id, input, cache_write, cache_read, output)
);
ALTER TABLE model ADD FOREIGN KEY (price_id, id) REFERENCES price (id, model_id) DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE route (
  model_id uuid NOT NULL REFERENCES model,
  provider text NOT NULL REFERENCES provider,
  upstream_model text NOT NULL,
  priority int NOT NULL CHECK (priority >= 0),
  weight int NOT NULL CHECK (weight > 0),
  PRIMARY KEY (model_id, provider, upstream_model)
);

CREATE TABLE tier (
  id uuid PRIMARY KEY,
  model_id uuid NOT NULL REFERENCES model,
  tier_usd_cents bigint NOT NULL CHECK (tier_usd_cents BETWEEN 1 AND 100000000),
  granted_tokens bigint NOT NULL CHECK (granted_tokens BETWEEN 1 AND 1000000000000000),
  for_sale boolean NOT NULL,
  UNIQUE (model_id, tier_usd_cents)
);

-- The ledger ----------------------------------------------------------------------------------------------------

-- The fillfactor leaves room for heap-only updates. They are possible because no index covers a column that changes.
CREATE TABLE account (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  unit text NOT NULL CHECK (unit IN ('usd_micro', 'usd_pico', 'token')),
  user_id uuid REFERENCES app_user,
  model_id uuid REFERENCES model,
  credits_posted bigint NOT NULL DEFAULT 0 CHECK (credits_posted >= 0),
  debits_posted bigint NOT NULL DEFAULT 0 CHECK (debits_posted >= 0),
  debits_pending bigint NOT NULL DEFAULT 0 CHECK (debits_pending >= 0),
  UNIQUE (id, unit),
  CONSTRAINT account_available CHECK (credits_posted - debits_posted - debits_pending >= 0),
  CONSTRAINT account_shape CHECK (CASE kind
    WHEN 'payg' THEN unit = 'usd_pico' AND user_id IS NOT NULL AND model_id IS NULL
    WHEN 'plan' THEN unit = 'token' AND user_id IS NOT NULL AND model_id IS NOT NULL AND credits_posted <= 9007199254740991
    -- System accounts store no balance. Otherwise every transfer would have to lock the row of its system account.
    WHEN 'system' THEN user_id IS NULL AND model_id IS NULL
      AND credits_posted = 0 AND debits_posted = 0 AND debits_pending = 0
    ELSE false END)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX account_payg ON account (user_id) WHERE kind = 'payg';
CREATE UNIQUE INDEX account_plan ON account (user_id, model_id) WHERE kind = 'plan';

INSERT INTO account (id, kind, unit) VALUES
  ('00000000-0000-0000-0000-000000000001', 'system', 'usd_micro'), -- external payments
  ('00000000-0000-0000-0000-000000000002', 'system', 'usd_micro'), -- plan revenue
  ('00000000-0000-0000-0000-000000000003', 'system', 'token'),     -- token issuance
  ('00000000-0000-0000-0000-000000000004', 'system', 'usd_pico');  -- pay-as-you-go funding

-- A transfer of an amount between two accounts with the same unit. The ref identifies the event that caused the
-- transfer, such as a mint; an event has at most one transfer of each code.
CREATE TABLE transfer (
  id uuid PRIMARY KEY,
  code text NOT NULL CHECK (code IN ('topup', 'mint_pay', 'mint_grant', 'payg_credit', 'quota_adjust')),
  ref text NOT NULL CHECK (length(ref) BETWEEN 1 AND 200),
  unit text NOT NULL,
  debit_account uuid NOT NULL,
  credit_account uuid NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0),
  actor text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (code, ref),
  CHECK (debit_account <> credit_account),
  FOREIGN KEY (debit_account, unit) REFERENCES account (id, unit),
  FOREIGN KEY (credit_account, unit) REFERENCES account (id, unit)
);
CREATE INDEX transfer_debit ON transfer (debit_account);
CREATE INDEX transfer_credit ON transfer (credit_account);

-- Inference -----------------------------------------------------------------------------------------------------

CREATE TABLE gateway_node (
  id uuid PRIMARY KEY,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  beat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Time at which the node deregistered. From then on, the node serves no requests.
  left_at timestamptz
);

-- One row per request between admission and settlement: the money and tokens that are set aside for the request.
-- The transaction that deletes the row settles the request.
CREATE TABLE inference_hold (
  request_id uuid PRIMARY KEY,
  user_id uuid NOT NULL,
  api_key_id uuid NOT NULL,
  model_id uuid NOT NULL,
  price_id uuid NOT NULL,
  protocol text NOT NULL CHECK (protocol IN ('chat', 'messages', 'responses', 'images')),
  streamed boolean NOT NULL,
  plan_account uuid,
  plan_tokens bigint NOT NULL CHECK (plan_tokens >= 0),
  payg_account uuid,
  payg_pico bigint NOT NULL CHECK (payg_pico >= 0),
  node_id uuid NOT NULL,
  held_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  checkpoint_input bigint NOT NULL DEFAULT 0 CHECK (checkpoint_input BETWEEN 0 AND 1000000000),
  checkpoint_output bigint NOT NULL DEFAULT 0 CHECK (checkpoint_output BETWEEN 0 AND 1000000000),
  CHECK (plan_account IS NOT NULL OR plan_tokens = 0),
  CHECK (payg_account IS NOT NULL OR payg_pico = 0)
) WITH (fillfactor = 60);
CREATE INDEX inference_hold_of_node ON inference_hold (node_id);

-- The journal of settlements: one row per settled request.
CREATE TABLE settlement (
  request_id uuid PRIMARY KEY,
  user_id uuid NOT NULL,
  api_key_id uuid NOT NULL,
  model_id uuid NOT NULL,
  price_id uuid NOT NULL,
  protocol text NOT NULL CHECK (protocol IN ('chat', 'messages', 'responses', 'images')),
  streamed boolean NOT NULL,
  ending text NOT NULL CHECK (ending IN ('complete', 'client_gone', 'upstream_cut', 'failed', 'orphaned')),
  usage_source text NOT NULL CHECK (usage_source IN ('upstream', 'mixed', 'local', 'checkpoint', 'none')),
  charged_input bigint NOT NULL CHECK (charged_input BETWEEN 0 AND 1000000000),
  charged_cache_write bigint NOT NULL CHECK (charged_cache_write BETWEEN 0 AND 1000000000),
  charged_cache_read bigint NOT NULL CHECK (charged_cache_read BETWEEN 0 AND 1000000000),
  charged_output bigint NOT NULL CHECK (charged_output BETWEEN 0 AND 1000000000),
  -- Tokens that the provider is known to have used, charged or not.
  consumed_input bigint NOT NULL CHECK (consumed_input BETWEEN 0 AND 1000000000),
  consumed_cache_write bigint NOT NULL CHECK (consumed_cache_write BETWEEN 0 AND 1000000000),
  consumed_cache_read bigint NOT NULL CHECK (consumed_cache_read BETWEEN 0 AND 1000000000),
  consumed_output bigint NOT NULL CHECK (consumed_output BETWEEN 0 AND 1000000000),
  cost_pico bigint NOT NULL CHECK (cost_pico >= 0),
  plan_account uuid REFERENCES account,
  plan_tokens bigint NOT NULL CHECK (plan_tokens >= 0),
  plan_value_pico bigint NOT NULL CHECK (plan_value_pico >= 0),
  payg_account uuid REFERENCES account,
  payg_pico bigint NOT NULL CHECK (payg_pico >= 0),
  writeoff_pico bigint NOT NULL CHECK (writeoff_pico >= 0),
  ttft_millis int CHECK (ttft_millis >= 0),
  duration_millis int NOT NULL CHECK (duration_millis >= 0),
  held_at timestamptz NOT NULL,
  settled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  FOREIGN KEY (api_key_id, user_id) REFERENCES api_key (id, user_id),
  FOREIGN KEY (price_id, model_id) REFERENCES price (id, model_id),
  CONSTRAINT settlement_adds_up CHECK (plan_value_pico + payg_pico + writeoff_pico = cost_pico),
  CHECK (plan_tokens <= charged_input + charged_cache_write + charged_cache_read + charged_output),
  CHECK (plan_account IS NOT NULL OR plan_tokens = 0),
  CHECK (payg_account IS NOT NULL OR payg_pico = 0),
  CONSTRAINT settlement_failed_is_free CHECK (ending <> 'failed' OR (cost_pico = 0 AND plan_tokens = 0))
);
CREATE INDEX settlement_of_user ON settlement (user_id, settled_at DESC, request_id DESC);
CREATE INDEX settlement_by_time ON settlement USING brin (settled_at);

-- Operations ----------------------------------------------------------------------------------------------------

CREATE TABLE audit_log (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  reason text NOT NULL,
  detail jsonb NOT NULL
);

-- Journals are append-only --------------------------------------------------------------------------------------

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is not allowed on the table %', TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON transfer FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON settlement FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON price FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The credits and the debits of an account never decrease, and its identity never changes.
CREATE FUNCTION refuse_shrinking() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'account %: the credits and the debits must not decrease, and the id, the kind, the unit, the owner and the model must not change', OLD.id USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER only_grows BEFORE UPDATE ON account FOR EACH ROW
  WHEN (NEW.credits_posted < OLD.credits_posted OR NEW.debits_posted < OLD.debits_posted
    OR NEW.id <> OLD.id OR NEW.kind <> OLD.kind OR NEW.unit <> OLD.unit
    OR NEW.user_id IS DISTINCT FROM OLD.user_id OR NEW.model_id IS DISTINCT FROM OLD.model_id)
  EXECUTE FUNCTION refuse_shrinking();
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON account FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
`
