/**
 * Creates the tables for image requests and for their reviews by an operator. A user has at most one running image
 * request.
 *
 * Like every request, an image request has a hold and then a settlement. The hold and the settlement contain its
 * amounts. These tables contain only the state of the request and the charge of a review, neither the prompt nor the
 * image.
 */
export const images = /* sql */ `
CREATE TABLE image_request (
  request_id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES app_user,
  -- SHA-256 of the idempotency key, deleted after 90 days. Also null when the request has no key, or when it has ended
  -- and nothing was sent to a provider.
  key_digest bytea CHECK (octet_length(key_digest) = 32),
  state text NOT NULL DEFAULT 'running' CHECK (state IN
    ('running', 'settled', 'unmetered', 'declined', 'timeout', 'withheld', 'failed', 'abandoned')),
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- A request that is still running after this time is abandoned. If its node is not dead, the node reads the state
  -- 'abandoned' when it finishes the request.
  lease_until timestamptz NOT NULL CHECK (lease_until > started_at),
  finished_at timestamptz CHECK (finished_at >= started_at),
  CHECK ((state = 'running') = (finished_at IS NULL))
);
-- This index allows at most one running request per user on all nodes.
CREATE UNIQUE INDEX image_request_running ON image_request (user_id) WHERE state = 'running';
CREATE UNIQUE INDEX image_request_key ON image_request (user_id, key_digest) WHERE key_digest IS NOT NULL;
CREATE INDEX image_request_lease ON image_request (lease_until) WHERE state = 'running';
CREATE INDEX image_request_key_age ON image_request (started_at) WHERE key_digest IS NOT NULL;

-- A request ends once, and its identity never changes. The digest of an idempotency key can be deleted, but not
-- replaced or added.
CREATE FUNCTION refuse_second_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'image request %: the state must not change after the end of the request, and the id, the user, the start time and the idempotency key must not change', OLD.request_id USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER ends_once BEFORE UPDATE ON image_request FOR EACH ROW
  WHEN (NEW.request_id <> OLD.request_id OR NEW.user_id <> OLD.user_id OR NEW.started_at <> OLD.started_at
    OR (NEW.key_digest IS NOT NULL AND NEW.key_digest IS DISTINCT FROM OLD.key_digest)
    OR (OLD.state <> 'running' AND (NEW.state, NEW.finished_at) IS DISTINCT FROM (OLD.state, OLD.finished_at)))
  EXECUTE FUNCTION refuse_second_end();
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON image_request FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE image_review (
  request_id uuid PRIMARY KEY REFERENCES image_request,
  reason text NOT NULL CHECK (reason IN ('unmetered', 'withheld', 'timeout', 'abandoned')),
  queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  resolution text CHECK (resolution IN ('waived', 'charged')),
  resolved_at timestamptz CHECK (resolved_at >= queued_at),
  resolved_by text,
  resolved_because text,
  charged_usd_micro bigint CHECK (charged_usd_micro > 0),
  CHECK (CASE WHEN resolution IS NULL THEN num_nonnulls(resolved_at, resolved_by, resolved_because) = 0
    ELSE num_nulls(resolved_at, resolved_by, resolved_because) = 0 END),
  CHECK ((charged_usd_micro IS NOT NULL) = (resolution IS NOT DISTINCT FROM 'charged'))
);
CREATE INDEX image_review_waiting ON image_review (queued_at, request_id) WHERE resolution IS NULL;
CREATE INDEX image_review_by_time ON image_review (queued_at, request_id);

-- A review is resolved once. Its request, its reason and its creation time never change.
CREATE FUNCTION refuse_second_resolution() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'review of the image request %: a resolved review must not change, and the request, the reason and the creation time must not change', OLD.request_id USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER resolved_once BEFORE UPDATE ON image_review FOR EACH ROW
  WHEN (OLD.resolution IS NOT NULL OR (NEW.request_id, NEW.reason, NEW.queued_at) IS DISTINCT FROM (OLD.request_id, OLD.reason, OLD.queued_at))
  EXECUTE FUNCTION refuse_second_resolution();
CREATE TRIGGER kept BEFORE DELETE OR TRUNCATE ON image_review FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A transfer with the code image_charge is a charge by an operator for a reviewed image.
ALTER TABLE transfer DROP CONSTRAINT transfer_code_check, ADD CONSTRAINT transfer_code_check
  CHECK (code IN ('topup', 'mint_pay', 'mint_grant', 'payg_credit', 'quota_adjust', 'image_charge'));
`
