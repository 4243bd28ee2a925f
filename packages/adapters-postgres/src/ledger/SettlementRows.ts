/**
 * Settlements as rows: decided over the running balances, written once, in the place of their holds.
 */
import type { Measured } from "@tollgate/application/ledger/InferenceLedger"
import type { RequestId } from "@tollgate/domain/inference/RequestId"
import type { AccountId } from "@tollgate/domain/ledger/Account"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import type { Price } from "@tollgate/domain/ledger/Price"
import { decideSettlement, type Settlement } from "@tollgate/domain/ledger/Settlement"
import { COUNTED_COLUMNS, insertDeltas } from "./CountedUsage.ts"
import { columnsOf } from "./RowArrays.ts"
import type { Owner, WorkingBalances } from "./WorkingBalances.ts"
import type { Part, WriteStatement } from "./WriteStatement.ts"

export interface NewSettlement {
  readonly requestId: RequestId
  readonly measured: Measured
  readonly settlement: Settlement
  /** Who paid; absent where nothing was taken. */
  readonly plan: AccountId | undefined
  readonly payg: AccountId | undefined
}

/** Settles a hold over the running balances, at the price it was admitted at. */
export const settleHold = (
  { requestId, owner, hold }: { readonly requestId: RequestId; readonly owner: Owner; readonly hold: Hold },
  measured: Measured,
  price: Price,
  accounts: WorkingBalances
): NewSettlement => {
  const after = decideSettlement(hold, measured.charge, price, accounts.of(owner))
  const { settlement } = after
  accounts.keep(owner, after)
  return {
    requestId,
    measured,
    settlement,
    plan: settlement.planTokens > 0n ? after.plan?.id : undefined,
    payg: settlement.paygPico > 0n ? after.payg?.id : undefined
  }
}

/** What a settlement adds to what its hold says. */
const SETTLEMENT = columnsOf<NewSettlement>({
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
})

const FROM_HOLD = "user_id, api_key_id, model_id, price_id, protocol, streamed, held_at"

const SETTLE: Part = {
  name: "settle",
  writes: (first) => `
    taken AS (
      DELETE FROM inference_hold WHERE request_id = ANY ($${first}::uuid[])
      RETURNING request_id, ${FROM_HOLD}
    ), written AS (
      INSERT INTO settlement (${SETTLEMENT.names}, ${FROM_HOLD})
      SELECT ${SETTLEMENT.names}, ${FROM_HOLD}
      FROM ${SETTLEMENT.unnested(first)} AS settled (${SETTLEMENT.names}) JOIN taken USING (request_id)
      RETURNING ${COUNTED_COLUMNS}
    ), counted AS (${insertDeltas("written")})`,
  precondition: (first) => `(SELECT count(*) FROM written) = cardinality($${first}::uuid[])`
}

/**
 * Takes the holds away, writes the settlements and counts what they used: all of them, or none where somebody else has
 * taken a hold.
 */
export const settleHolds = (settlements: ReadonlyArray<NewSettlement>): WriteStatement => ({
  part: SETTLE,
  values: SETTLEMENT.arrays(settlements)
})
