/**
 * Adds the limits of API keys.
 *
 * A request of a key without limits causes no additional write: it changes no row of `counted_key`, and its open
 * request has null in the new columns. A server of an earlier release ignores the new columns and the new table, so it
 * does not apply the limits. The new columns of `open_request` have no constraint, because its check would slow down
 * every request.
 */
export const keyLimits = /* sql */ `
ALTER TABLE api_key
  -- Whether the ledger counts the requests of the key, in its row of counted_key.
  ADD COLUMN counted boolean NOT NULL DEFAULT false,
  ADD COLUMN expires_at timestamptz,
  -- The public names of the models that the key may call; null if it may call every model.
  ADD COLUMN models text[] CHECK (cardinality(models) BETWEEN 1 AND 100);

-- The limits with which the ledger compares counts, and these counts. The row stays when the limits are removed,
-- because open requests can refer to its windows.
CREATE TABLE counted_key (
  key_id uuid PRIMARY KEY REFERENCES api_key,
  -- Every change of the limits or the counts increments the revision.
  revision bigint NOT NULL DEFAULT 0 CHECK (revision >= 0),
  spend_per_day_usd_micro bigint CHECK (spend_per_day_usd_micro BETWEEN 0 AND 1000000000000),
  spend_per_month_usd_micro bigint CHECK (spend_per_month_usd_micro BETWEEN 0 AND 1000000000000),
  spend_total_usd_micro bigint CHECK (spend_total_usd_micro BETWEEN 0 AND 1000000000000),
  requests_per_minute int CHECK (requests_per_minute > 0),
  tokens_per_minute bigint CHECK (tokens_per_minute > 0),
  concurrent_requests int CHECK (concurrent_requests > 0),
  -- The latest day with a decision, in Asia/Jakarta.
  day date NOT NULL,
  spent_in_day_pico bigint NOT NULL DEFAULT 0 CHECK (spent_in_day_pico >= 0),
  spent_in_month_pico bigint NOT NULL DEFAULT 0 CHECK (spent_in_month_pico >= spent_in_day_pico),
  spent_total_pico bigint NOT NULL DEFAULT 0 CHECK (spent_total_pico >= spent_in_month_pico),
  -- The sum of key_pico over the open requests of the key.
  pending_pico bigint NOT NULL DEFAULT 0 CHECK (pending_pico >= 0),
  open_requests int NOT NULL DEFAULT 0 CHECK (open_requests >= 0),
  -- The rate window: the requests and tokens that are counted together.
  window_number bigint NOT NULL DEFAULT 0 CHECK (window_number >= 0),
  window_began_at timestamptz NOT NULL DEFAULT 'epoch',
  window_requests int NOT NULL DEFAULT 0 CHECK (window_requests >= 0),
  window_tokens bigint NOT NULL DEFAULT 0 CHECK (window_tokens >= 0)
) WITH (fillfactor = 50);

ALTER TABLE open_request
  -- The amount that the hold sets aside from the budget of its key; null if the key has no budget.
  ADD COLUMN key_pico bigint,
  -- The tokens that the rate window counts for the request; null if the key was not limited at the admission.
  ADD COLUMN key_tokens bigint,
  ADD COLUMN key_window bigint;
`
