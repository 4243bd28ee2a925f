/**
 * Adds the maximum output of a model and the ending `balance_exhausted`. Renames the table of open requests, because a
 * row contains the facts and the checkpoint of a request besides its hold.
 *
 * The new check of `settlement` allows one more ending than the old check. The stored rows satisfy the old check, so
 * the new check is not validated for the rows of this large table.
 */
export const growingHolds = /* sql */ `
ALTER TABLE model
  ADD COLUMN max_output_tokens int CHECK (max_output_tokens BETWEEN 1 AND 10000000),
  ADD CONSTRAINT model_max_output_tokens_of_text CHECK (max_output_tokens IS NULL OR kind = 'text');

ALTER TABLE settlement
  DROP CONSTRAINT settlement_ending_check,
  ADD CONSTRAINT settlement_ending_check
    CHECK (ending IN ('complete', 'client_gone', 'upstream_cut', 'balance_exhausted', 'failed', 'orphaned')) NOT VALID;

ALTER TABLE inference_hold RENAME TO open_request;

-- Postgres 18 and later versions also store NOT NULL as a constraint, so the set of names depends on the version.
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN
    SELECT conname FROM pg_constraint
    WHERE conrelid = 'open_request'::regclass AND starts_with(conname::text, 'inference_hold')
  LOOP
    EXECUTE format('ALTER TABLE open_request RENAME CONSTRAINT %I TO %I', name,
      replace(name, 'inference_hold', 'open_request'));
  END LOOP;
END $$;
`
