/**
 * Stores usage per minute, hour and day instead of only per hour.
 *
 * Windows end at whole minutes. If only sums per hour exist, the partial hours at the ends of a window must be read
 * from the settlements. Every window ends in the current hour, so a busy server then reads millions of rows per minute.
 * A grain is one of the three lengths of time, and a cell is the sum of one minute, hour or day. Any span of whole
 * minutes is a sum of cells, and a long span consists mostly of days.
 *
 * The migration recounts everything from the settlements.
 */
export const usageByGrain = /* sql */ `
DROP TABLE usage_delta, usage_hour, speed_hour;

-- Returns the start of the cell that contains the instant. Days begin at midnight in Jakarta (UTC+7 all year).
CREATE FUNCTION cell_of(grain text, instant timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT date_bin(
    CASE grain WHEN 'minute' THEN interval '1 minute' WHEN 'hour' THEN interval '1 hour' WHEN 'day' THEN interval '1 day' END,
    instant, '2000-01-01 00:00:00+07'::timestamptz)
$$;

-- One row per transaction, model and minute. Rows are inserted, and deleted when they are added to the sums.
CREATE TABLE usage_delta (
  minute timestamptz NOT NULL,
  model_id uuid NOT NULL,
  tokens bigint NOT NULL,
  -- One bucket per sample: tps in tenths of a token per second, ttft in milliseconds.
  tps smallint[] NOT NULL,
  ttft smallint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Sums per day are kept permanently. Sums per hour and minute are kept as long as a window can begin or end in them.
CREATE TABLE usage_rollup (
  grain text NOT NULL CHECK (grain IN ('minute', 'hour', 'day')),
  start timestamptz NOT NULL,
  model_id uuid NOT NULL REFERENCES model,
  tokens bigint NOT NULL CHECK (tokens > 0),
  PRIMARY KEY (grain, start, model_id),
  CHECK (start = cell_of(grain, start))
) WITH (fillfactor = 80);

-- Histograms: the number of samples in each bucket. Rows older than some days are deleted.
CREATE TABLE speed_rollup (
  grain text NOT NULL CHECK (grain IN ('minute', 'hour', 'day')),
  start timestamptz NOT NULL,
  model_id uuid NOT NULL REFERENCES model,
  measure text NOT NULL CHECK (measure IN ('tps', 'ttft')),
  buckets smallint[] NOT NULL CHECK (cardinality(buckets) > 0),
  samples int[] NOT NULL CHECK (cardinality(samples) = cardinality(buckets) AND 0 < ALL (samples)),
  PRIMARY KEY (grain, start, model_id, measure),
  CHECK (start = cell_of(grain, start))
) WITH (fillfactor = 80);

-- Only rebuilds and the audit read settlements by time. Both read whole days, so they do not need this setting.
ALTER INDEX settlement_by_time RESET (autosummarize);

INSERT INTO usage_rollup (grain, start, model_id, tokens)
SELECT grain, cell_of(grain, minute), model_id, sum(tokens) FROM (
  SELECT cell_of('minute', settled_at) AS minute, model_id, sum(CASE WHEN protocol = 'images' THEN 0
    ELSE consumed_input + consumed_cache_write + consumed_output END) AS tokens
  FROM settlement GROUP BY 1, 2) AS counted
CROSS JOIN (VALUES ('minute'), ('hour'), ('day')) AS kept (grain)
WHERE grain = 'day' OR cell_of(grain, minute) >= clock_timestamp() - interval '62 days'
GROUP BY 1, 2, 3 HAVING sum(tokens) > 0;

INSERT INTO speed_rollup (grain, start, model_id, measure, buckets, samples)
SELECT grain, start, model_id, measure, array_agg(bucket ORDER BY bucket), array_agg(samples ORDER BY bucket) FROM (
  SELECT grain, cell_of(grain, settled_at) AS start, model_id, measure, bucket, count(*)::int AS samples
  FROM settlement CROSS JOIN LATERAL (VALUES
    ('tps', speed_bucket((consumed_output * 20000 + greatest(duration_millis, 1)) / (2 * greatest(duration_millis::bigint, 1)))),
    ('ttft', speed_bucket(ttft_millis))
  ) AS sample (measure, bucket)
  CROSS JOIN (VALUES ('minute'), ('hour'), ('day')) AS kept (grain)
  WHERE settled_at >= clock_timestamp() - interval '9 days' AND cell_of(grain, settled_at) >= clock_timestamp() - interval '9 days'
    AND protocol <> 'images' AND streamed AND ending = 'complete' AND ttft_millis IS NOT NULL
  GROUP BY 1, 2, 3, 4, 5) AS counted
GROUP BY 1, 2, 3, 4;
`
