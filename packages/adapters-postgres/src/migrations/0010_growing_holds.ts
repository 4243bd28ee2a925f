/**
 * Adds the largest output of a model, and allows the ending of a stream whose balance was used up.
 *
 * Every stored row satisfies the narrower check that the new check of `settlement` replaces. The check of this large table
 * is therefore not validated for the stored rows.
 */
export const growingHolds = /* sql */ `
ALTER TABLE model
  ADD COLUMN max_output_tokens int CHECK (max_output_tokens BETWEEN 1 AND 10000000),
  ADD CONSTRAINT model_max_output_tokens_of_text CHECK (max_output_tokens IS NULL OR kind = 'text');

ALTER TABLE settlement
  DROP CONSTRAINT settlement_ending_check,
  ADD CONSTRAINT settlement_ending_check
    CHECK (ending IN ('complete', 'client_gone', 'upstream_cut', 'balance_exhausted', 'failed', 'orphaned')) NOT VALID;
`
