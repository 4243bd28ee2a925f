/**
 * Decides settlements and writes their rows. A settlement row replaces the hold of its request and never changes. The
 * statement that writes the row also counts the settlement for the rankings.
 */
import type { Admission, Measured } from "@tollgate/application/ledger/InferenceLedger"
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { AccountId } from "@tollgate/domain/ledger/Account"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import { settleKeyHold } from "@tollgate/domain/ledger/KeyHold"
import type { Price } from "@tollgate/domain/ledger/Price"
import { decideSettlement, type Settlement } from "@tollgate/domain/ledger/Settlement"
import { arrayOf, type Columns, columnsOf } from "../client/SqlValues.ts"
import type { WorkingKeys } from "./CountedKeys.ts"
import { validKeys } from "./HoldRows.ts"
import type { Owner, WorkingBalances } from "./WorkingBalances.ts"
import type { Part, WriteStatement } from "./WriteStatement.ts"

export interface NewSettlement {
  readonly requestId: RequestId
  /** The amounts that the settlement releases. */
  readonly hold: Hold
  readonly measured: Measured
  readonly settlement: Settlement
  /** Plan account that is debited; undefined when no plan tokens are charged. */
  readonly plan: AccountId | undefined
  /** Pay-as-you-go account that is debited; undefined when no pay-as-you-go amount is charged. */
  readonly payg: AccountId | undefined
}

/** A hold to settle, with the owner of the balances and the key of the request. */
export interface SettledHold {
  readonly requestId: RequestId
  readonly owner: Owner
  readonly keyId: ApiKeyId
  readonly hold: Hold
}

/**
 * Decides the settlement of a hold at the price that was valid at admission, and updates the working balances and the
 * counts of the key.
 */
export const settleHold = (
  { requestId, owner, keyId, hold }: SettledHold,
  measured: Measured,
  price: Price,
  accounts: WorkingBalances,
  keys: WorkingKeys
): NewSettlement => {
  const after = decideSettlement(hold, measured.charge, price, accounts.of(owner))
  const { settlement } = after
  accounts.set(owner, after)
  const key = hold.key && keys.of(keyId)
  if (hold.key !== undefined && key !== undefined) {
    const { charged } = measured.charge
    keys.set(keyId, settleKeyHold(hold.key, settlement.costPico, charged, key.counts, keys.nowMillis))
  }
  return {
    requestId,
    hold,
    measured,
    settlement,
    plan: settlement.planTokens > 0n ? after.plan?.id : undefined,
    payg: settlement.paygPico > 0n ? after.payg?.id : undefined
  }
}

/** The columns of a settlement that are not copied from its hold. */
const WRITTEN: Columns<NewSettlement> = {
  request_id: ["uuid", ({ requestId }) => requestId],
  ending: ["text", ({ measured }) => measured.ending],
  usage_source: ["text", ({ measured }) => measured.charge.source],
  charged_input: ["bigint", ({ measured }) => measured.charge.charged.input],
  charged_cache_write: ["bigint", ({ measured }) => measured.charge.charged.cacheWrite],
  charged_cache_read: ["bigint", ({ measured }) => measured.charge.charged.cacheRead],
  charged_output: ["bigint", ({ measured }) => measured.charge.charged.output],
  consumed_input: ["bigint", ({ measured }) => measured.charge.consumed.input],
  consumed_cache_write: ["bigint", ({ measured }) => measured.charge.consumed.cacheWrite],
  consumed_cache_read: ["bigint", ({ measured }) => measured.charge.consumed.cacheRead],
  consumed_output: ["bigint", ({ measured }) => measured.charge.consumed.output],
  cost_pico: ["bigint", ({ settlement }) => settlement.costPico],
  plan_account: ["uuid", ({ plan }) => plan],
  plan_tokens: ["bigint", ({ settlement }) => settlement.planTokens],
  plan_value_pico: ["bigint", ({ settlement }) => settlement.planValuePico],
  payg_account: ["uuid", ({ payg }) => payg],
  payg_pico: ["bigint", ({ settlement }) => settlement.paygPico],
  writeoff_pico: ["bigint", ({ settlement }) => settlement.writeoffPico],
  ttft_millis: ["int", ({ measured }) => measured.ttftMillis],
  duration_millis: ["int", ({ measured }) => measured.durationMillis]
}

/**
 * The columns of `WRITTEN` and the released amounts. The statement compares the released amounts with the deleted row,
 * because the hold can have grown since it was read.
 */
const DECIDED: Columns<NewSettlement> = {
  ...WRITTEN,
  held_tokens: ["bigint", ({ hold }) => hold.planTokens],
  held_pico: ["bigint", ({ hold }) => hold.paygPico]
}

const [SETTLEMENT, DECISION] = [columnsOf(WRITTEN), columnsOf(DECIDED)]
const FROM_HOLD = "user_id, api_key_id, model_id, price_id, protocol, streamed, held_at"

const SETTLE: Part = {
  name: "settle",
  writes: (first) => `
    taken AS (
      DELETE FROM open_request WHERE request_id = ANY ($${first}::uuid[])
      RETURNING request_id, plan_tokens AS held_tokens, payg_pico AS held_pico, ${FROM_HOLD}
    ), written AS (
      INSERT INTO settlement (${SETTLEMENT.names}, ${FROM_HOLD})
      SELECT ${SETTLEMENT.names}, ${FROM_HOLD}
      FROM ${DECISION.unnested(first)} AS decided (${DECISION.names})
        JOIN taken USING (request_id, held_tokens, held_pico)
      RETURNING ${COUNTED_COLUMNS}
    ), counted AS (${insertDeltas("written")})`,
  precondition: (first) => `(SELECT count(*) FROM written) = cardinality($${first}::uuid[])`
}

/**
 * Returns the statement that deletes the holds, writes the settlements and counts their usage. The statement writes
 * nothing when another session has deleted one of the holds or changed its amounts.
 */
export const settleHolds = (settlements: ReadonlyArray<NewSettlement>): WriteStatement => ({
  part: SETTLE,
  values: DECISION.arrays(settlements)
})

/** A settlement of a request that is admitted in the same transaction, so that it has no row in `open_request`. */
export interface UnheldSettlement extends NewSettlement {
  readonly admission: Admission
}

const UNHELD = columnsOf<UnheldSettlement>({
  ...WRITTEN,
  user_id: ["uuid", ({ admission }) => admission.principal.userId],
  api_key_id: ["uuid", ({ admission }) => admission.principal.keyId],
  model_id: ["uuid", ({ admission }) => admission.modelId],
  price_id: ["uuid", ({ admission }) => admission.priceId],
  protocol: ["text", ({ admission }) => admission.protocol],
  streamed: ["boolean", ({ admission }) => admission.streamed]
})

const INSERT: Part = {
  name: "once",
  writes: (first) => `
    valid_unheld AS (${validKeys(`$${first}`)} AND NOT api_key.counted), unheld AS (
      INSERT INTO settlement (${UNHELD.names}, held_at)
      SELECT decided_once.*, statement_timestamp() FROM ${UNHELD.unnested(first + 1)} AS decided_once
      RETURNING ${COUNTED_COLUMNS}
    ), counted_unheld AS (${insertDeltas("unheld")})`,
  precondition: (first) => `(SELECT count(*) FROM valid_unheld) = cardinality($${first}::uuid[])
      AND (SELECT count(*) FROM unheld) = cardinality($${first + 1}::uuid[])`
}

/**
 * Returns the statement that writes the settlements of requests without a hold row and counts their usage. Like
 * `insertHolds`, the statement writes nothing when one of the API keys is invalid, or is limited although nothing was
 * set aside for its limits.
 */
export const insertSettlements = (settlements: ReadonlyArray<UnheldSettlement>): WriteStatement => {
  const keys = new Set<ApiKeyId>()
  for (const { admission, hold } of settlements) if (hold.key === undefined) keys.add(admission.principal.keyId)
  return { part: INSERT, values: [arrayOf([...keys]), ...UNHELD.arrays(settlements)] }
}

/**
 * The SQL expressions below define which part of a settlement the rankings count.
 *
 * Counted tokens are the tokens that the provider is known to have used, charged or not, without the tokens that the
 * provider read from its cache (docs/reference/rankings.md#c6). A failed request is counted when its provider used
 * tokens. Image requests are not counted.
 */

/** Number of counted tokens, by the same rule as `TokenUsage.ranked`. */
export const COUNTED_TOKENS =
  "CASE WHEN protocol = 'images' THEN 0 ELSE consumed_input + consumed_cache_write + consumed_output END"

export const MINUTE_SETTLED = "date_bin('1 minute', settled_at, 'epoch')"

/** Condition under which a settlement is a speed sample: the request was a complete stream that delivered output. */
export const IS_SAMPLE = "protocol <> 'images' AND streamed AND ending = 'complete' AND ttft_millis IS NOT NULL"

/** Output speed in tenths of a token per second, rounded in the same way as by `decitokensPerSecond`. */
export const DECITPS =
  "(consumed_output * 20000 + greatest(duration_millis, 1)) / (2 * greatest(duration_millis::bigint, 1))"

/**
 * Returns an INSERT into `usage_delta` of one row per model and minute. `settlements` is the name of the table
 * expression with the settlements.
 */
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

/** The two speed samples of a settlement: one row for each measure, with the bucket of the value. */
export const SAMPLES = `
  (VALUES ('tps', speed_bucket(${DECITPS})), ('ttft', speed_bucket(ttft_millis))) AS sample (measure, bucket)`

/** The speed samples of a `usage_delta` row: one row for each sample, with its measure and bucket. */
export const DELTA_SAMPLES = `
  (SELECT 'tps', unnest(tps) UNION ALL SELECT 'ttft', unnest(ttft)) AS sample (measure, bucket)`
