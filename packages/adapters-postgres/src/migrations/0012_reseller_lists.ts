/**
 * Adds the indexes that serve the lists of API keys, mints and quota movements, and the table of the last uses of keys.
 *
 * The indexes are on tables to which few requests add a row. Building the indexes takes about a second for each million
 * rows. While an index is built, its table can be read but not written. After an index is dropped, its table can be
 * neither read nor written until the commit. The table `settlement` gets no index, because every request writes to it.
 */
export const resellerLists = /* sql */ `
CREATE INDEX api_key_list ON api_key (user_id, created_at DESC, id DESC);
DROP INDEX api_key_of_user;

CREATE INDEX mint_list ON mint (reseller_id, minted_at DESC, id DESC);
DROP INDEX mint_by_time;

CREATE INDEX transfer_debit_list ON transfer (debit_account, created_at DESC, id DESC);
CREATE INDEX transfer_credit_list ON transfer (credit_account, created_at DESC, id DESC);
DROP INDEX transfer_debit, transfer_credit;

-- A separate table, because its rows change every minute while a key is used. The rows of api_key almost never change.
CREATE TABLE api_key_use (
  key_id uuid PRIMARY KEY REFERENCES api_key,
  used_at timestamptz NOT NULL
) WITH (fillfactor = 50);
`
