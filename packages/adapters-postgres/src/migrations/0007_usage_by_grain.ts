/**
 * Stores usage per minute, hour and day instead of only per hour.
 *
 * A window begins and ends at a whole minute. With sums per hour only, the first and the last hour of a window must be
 * counted from the settlements, because the window contains only a part of these hours. The last hour is the current
 * hour. It can have a million settlements, and the rankings are computed every minute.
 *
 * A cell is the usage of one model in one minute, hour or day. The grain of a cell is this length of time. The usage in
 * a window is a sum of cells. A long window consists mostly of whole days, so only few cells are read.
 *
 * The migration counts the cells from the settlements.
 */
export const usageByGrain = /* sql */ `
DROP TABLE usage_delta, usage_hour, speed_hour;

-- Returns the start of the minute, hour or day that contains the instant. Days begin at midnight in Jakarta (UTC+7 all
-- year).
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
  -- One element per sample: the number of a histogram bucket (speed_bucket). The buckets of tps divide tenths of a
  -- token per second, the buckets of ttft divide milliseconds.
  tps smallint[] NOT NULL,
  ttft smallint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Sums per day are kept permanently. A sum per hour or minute is kept as long as a window can begin or end in this hour
-- or minute.
CREATE TABLE usage_rollup (
  grain text NOT NULL CHECK (grain IN ('minute', 'hour', 'day')),
  start timestamptz NOT NULL,
  model_id uuid NOT NULL REFERENCES model,
  tokens bigint NOT NULL CHECK (tokens > 0),
  PRIMARY KEY (grain, start, model_id),
  CHECK (start = cell_of(grain, start))
) WITH (fillfactor = 80);

-- Histograms: the number of samples in each bucket. Rows older than nine days are deleted.
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

-- Migration 0004 has set this option for the rankings, which had to find the newest settlements by time. The rankings
-- read cells instead, so they do not need the option.
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
