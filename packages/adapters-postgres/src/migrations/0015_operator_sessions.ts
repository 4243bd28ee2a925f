/**
 * Creates the tables of the operator API, which store the sessions of operators and the results of audits, and an index
 * for the list of flagged orders.
 */
export const operatorSessions = /* sql */ `
CREATE TABLE operator_session (
  id uuid PRIMARY KEY,
  actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
  -- SHA-256 of the one-time code and of the token. Both have 256 random bits, so the digests need no secret.
  code_digest bytea NOT NULL UNIQUE CHECK (octet_length(code_digest) = 32),
  token_digest bytea UNIQUE CHECK (octet_length(token_digest) = 32),
  created_at timestamptz NOT NULL,
  opened_at timestamptz,
  used_at timestamptz,
  ended_at timestamptz,
  CONSTRAINT operator_session_opened CHECK (num_nulls(token_digest, opened_at, used_at) IN (0, 3))
);
CREATE INDEX operator_session_by_time ON operator_session (created_at DESC, id DESC);

-- A code is redeemed once, and a session ends once.
CREATE FUNCTION refuse_reopening() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'operator session %: the session can be opened only once, it must not change after its end, and the id, the operator, the code and the creation time must not change', OLD.id USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER opened_once BEFORE UPDATE ON operator_session FOR EACH ROW
  WHEN ((NEW.id, NEW.actor, NEW.code_digest, NEW.created_at) IS DISTINCT FROM (OLD.id, OLD.actor, OLD.code_digest, OLD.created_at)
    OR OLD.opened_at IS NOT NULL AND (NEW.token_digest, NEW.opened_at) IS DISTINCT FROM (OLD.token_digest, OLD.opened_at)
    OR OLD.ended_at IS NOT NULL)
  EXECUTE FUNCTION refuse_reopening();

-- The results of audits. A row is never changed.
CREATE TABLE audit_run (
  id uuid PRIMARY KEY,
  actor text NOT NULL,
  started_at timestamptz NOT NULL,
  finished_at timestamptz NOT NULL,
  report jsonb NOT NULL
);
CREATE INDEX audit_run_by_time ON audit_run (finished_at DESC, id DESC);

-- The list of the top-up orders that are late, underpaid or overpaid.
CREATE INDEX topup_order_flagged ON topup_order (created_at DESC, id DESC)
  WHERE provision_state = 'ready' AND (paid_at > expires_at
    OR paid_at IS NULL AND status <> 'pending' AND coalesce(div(received_raw, 1000000000000), received_usd_micro) > 0
    OR coalesce(div(received_raw, 1000000000000), received_usd_micro) > quota_usd_micro);
`
