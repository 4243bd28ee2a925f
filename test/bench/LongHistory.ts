/**
 * Returns SQL that writes a usage history: settlements of twenty models over ninety days. The SQL switches off the
 * triggers of the ledger, so the benchmark computes the usage sums from the settlements afterwards.
 */
export const MODELS = 20

export const longHistory = (settlements: number): string => `
  SET session_replication_role = replica;
  INSERT INTO model (id, public_name, display_name, author, kind, discovery_rank, hidden, capabilities, retired, price_id)
  SELECT md5(i::text)::uuid, 'model-' || i, 'Model ' || i, 'Author ' || i % 7, 'text', i, i = 5, '{}', i = 6, md5(i::text)::uuid
  FROM generate_series(1, ${MODELS}) AS i;
  INSERT INTO settlement (request_id, user_id, api_key_id, model_id, price_id, protocol, streamed, ending, usage_source,
    charged_input, charged_cache_write, charged_cache_read, charged_output,
    consumed_input, consumed_cache_write, consumed_cache_read, consumed_output,
    cost_pico, plan_tokens, plan_value_pico, payg_pico, writeoff_pico, ttft_millis, duration_millis, held_at, settled_at)
  SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), model, model, 'chat', chance < 0.9,
    CASE WHEN chance > 0.05 THEN 'complete' ELSE 'failed' END, 'upstream', 0, 0, 0, 0,
    1000 + (chance * 5000)::int, 0, 2000, output, 0, 0, 0, 0, 0, 100 + (chance * 900)::int,
    1000 + output * (8 + (random() * 12)::int), settled_at, settled_at
  FROM (
    SELECT md5((1 + (random() * random() * ${MODELS - 1})::int)::text)::uuid AS model, random() AS chance,
      50 + (random() * random() * 3000)::int AS output,
      clock_timestamp() - interval '90 days' * (1 - i / ${settlements}::double precision) AS settled_at
    FROM generate_series(1, ${settlements}) AS i) AS drawn;
  SET session_replication_role = origin`
