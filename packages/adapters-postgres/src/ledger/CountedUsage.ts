/**
 * What of a settlement the rankings count, as SQL over its columns: the one place that says so.
 *
 * Tokens are those the supplier is known to have used, charged or not, without what it read from its cache (gap C6). A
 * request that failed after its supplier had used something counts; one that used nothing leaves no row. Images are no
 * text: they count for nothing, everywhere, because it is said here.
 */

/** `TokenUsage.ranked` of what was consumed. */
export const COUNTED_TOKENS =
  "CASE WHEN protocol = 'images' THEN 0 ELSE consumed_input + consumed_cache_write + consumed_output END"

export const MINUTE_SETTLED = "date_bin('1 minute', settled_at, 'epoch')"

/** A stream that ended complete and delivered something says how fast its model is. */
export const IS_SAMPLE = "protocol <> 'images' AND streamed AND ending = 'complete' AND ttft_millis IS NOT NULL"

/** Tenths of an output token a second, as `decitokensPerSecond` rounds them. */
export const DECITPS =
  "(consumed_output * 20000 + greatest(duration_millis, 1)) / (2 * greatest(duration_millis::bigint, 1))"

/** The rows of `usage_delta` for these settlements: one a model and minute, made when they are. */
export const insertDeltas = (settlements: string): string => `
      INSERT INTO usage_delta (minute, model_id, tokens, tps, ttft)
      SELECT minute, model_id, sum(tokens)::bigint, coalesce(array_agg(tps) FILTER (WHERE is_sample), '{}'),
        coalesce(array_agg(ttft) FILTER (WHERE is_sample), '{}')
      FROM (
        SELECT ${MINUTE_SETTLED} AS minute, model_id, ${COUNTED_TOKENS} AS tokens, ${IS_SAMPLE} AS is_sample,
          speed_bucket(${DECITPS}) AS tps, speed_bucket(ttft_millis) AS ttft
        FROM ${settlements}) AS used
      WHERE tokens > 0 OR is_sample GROUP BY minute, model_id`

/** The columns that {@link insertDeltas} reads. */
export const COUNTED_COLUMNS = `model_id, protocol, settled_at, streamed, ending, ttft_millis, duration_millis,
        consumed_input, consumed_cache_write, consumed_output`

/** The samples of a settlement as rows: what was measured, and its bucket. */
export const SAMPLES = `
  (VALUES ('tps', speed_bucket(${DECITPS})), ('ttft', speed_bucket(ttft_millis))) AS sample (measure, bucket)`

/** The samples of a row of `usage_delta`. */
export const DELTA_SAMPLES = `
  (SELECT 'tps', unnest(tps) UNION ALL SELECT 'ttft', unnest(ttft)) AS sample (measure, bucket)`
