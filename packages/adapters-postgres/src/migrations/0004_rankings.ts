/**
 * Creates the tables for rankings: tokens per model and hour, speeds of the last days, and the rankings documents that
 * the server returns. Migration 0007 replaces the tables of tokens and speeds.
 *
 * All these rows are derived from the settlements and can be recounted. Each transaction that settles requests inserts
 * its own rows into `usage_delta`, so concurrent transactions never write the same row. A background task later adds
 * these rows to the sums per hour.
 */
export const rankings = /* sql */ `
-- Speeds are counted in buckets on a logarithmic scale. Bucket b contains the whole numbers from 1.01^b to below
-- 1.01^(b + 1), and bucket -1 contains zero. The middle of a bucket represents all its numbers. The error is below 1 %,
-- and numbers below 100 have no error. No power of 1.01 is so near to a whole number that a floating-point error could
-- select the wrong bucket.
CREATE FUNCTION speed_bucket(speed bigint) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN speed < 1 THEN -1 ELSE floor(ln(speed::double precision) / ln(1.01::double precision)) END::smallint
$$;
CREATE FUNCTION speed_of_bucket(bucket smallint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN bucket < 0 THEN 0 ELSE
    (ceil(power(1.01::double precision, bucket))::bigint + ceil(power(1.01::double precision, bucket + 1))::bigint - 1) / 2
  END
$$;

-- One row per transaction, model and hour. Rows are inserted, and deleted when they are added to the sums.
CREATE TABLE usage_delta (
  hour timestamptz NOT NULL,
  model_id uuid NOT NULL,
  tokens bigint NOT NULL,
  -- One element per sample: the number of a histogram bucket (speed_bucket). The buckets of tps divide tenths of a
  -- token per second, the buckets of ttft divide milliseconds.
  tps smallint[] NOT NULL,
  ttft smallint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE TABLE usage_hour (
  hour timestamptz NOT NULL CHECK (hour = date_bin('1 hour', hour, 'epoch')),
  model_id uuid NOT NULL REFERENCES model,
  tokens bigint NOT NULL CHECK (tokens >= 0),
  PRIMARY KEY (hour, model_id)
) WITH (fillfactor = 80);

-- Medians cover the last seven days, so older rows are deleted.
CREATE TABLE speed_hour (
  hour timestamptz NOT NULL,
  model_id uuid NOT NULL REFERENCES model,
  measure text NOT NULL CHECK (measure IN ('tps', 'ttft')),
  bucket smallint NOT NULL,
  samples int NOT NULL CHECK (samples > 0),
  PRIMARY KEY (hour, model_id, measure, bucket)
) WITH (fillfactor = 80);

-- The last rankings document of each window. All nodes read and write these rows.
CREATE TABLE rankings_document (
  period text PRIMARY KEY CHECK (period IN ('day', 'week', 'month', 'all')),
  generated_at timestamptz NOT NULL,
  document jsonb NOT NULL
);

-- The first and the last hour of a window are counted from the settlements, and the last hour has the newest
-- settlements. Without this option, the index does not cover the newest rows until the next vacuum, and every query
-- reads all these rows.
ALTER INDEX settlement_by_time SET (autosummarize = on);

-- Counts the settlements that exist before this migration.
INSERT INTO usage_hour (hour, model_id, tokens)
SELECT date_bin('1 hour', settled_at, 'epoch'), model_id, sum(consumed_input + consumed_cache_write + consumed_output)
FROM settlement GROUP BY 1, 2 HAVING sum(consumed_input + consumed_cache_write + consumed_output) > 0;

INSERT INTO speed_hour (hour, model_id, measure, bucket, samples)
SELECT date_bin('1 hour', settled_at, 'epoch'), model_id, sample.measure, sample.bucket, count(*)
FROM settlement CROSS JOIN LATERAL (VALUES
  ('tps', speed_bucket((consumed_output * 20000 + greatest(duration_millis, 1)) / (2 * greatest(duration_millis::bigint, 1)))),
  ('ttft', speed_bucket(ttft_millis))
) AS sample (measure, bucket)
WHERE settled_at >= clock_timestamp() - interval '8 days'
  AND streamed AND ending = 'complete' AND ttft_millis IS NOT NULL
GROUP BY 1, 2, 3, 4;
`
