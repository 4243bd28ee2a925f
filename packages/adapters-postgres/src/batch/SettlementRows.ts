/**
 * Settlements as rows: decided over the running balances, written once.
 */
import type { Measured } from "@tollgate/application/ports/InferenceLedger"
import type { AccountId } from "@tollgate/domain/ledger/Account"
import { decideSettlement, type Settlement } from "@tollgate/domain/ledger/Settlement"
import type { TakenHold } from "./HoldRows.ts"
import type { LockedAccounts } from "./LockedAccounts.ts"
import { insertInto } from "./MultiRowInsert.ts"
import type { Prices } from "./Prices.ts"

export interface NewSettlement {
  readonly taken: TakenHold
  readonly measured: Measured
  readonly settlement: Settlement
  /** Who paid; absent where nothing was taken. */
  readonly plan: AccountId | undefined
  readonly payg: AccountId | undefined
}

/** Settles a hold this transaction took, at the price it was admitted at. */
export const settleTaken = (
  taken: TakenHold,
  measured: Measured,
  prices: Prices,
  accounts: LockedAccounts
): NewSettlement => {
  const price = prices.get(taken.priceId)
  if (price === undefined) throw new Error(`there is no price ${taken.priceId}`)
  const { settlement, ...after } = decideSettlement(taken.hold, measured.charge, price, accounts.of(taken))
  accounts.keep(taken, after)
  return {
    taken,
    measured,
    settlement,
    plan: settlement.planTokens > 0n ? after.plan?.id : undefined,
    payg: settlement.paygPico > 0n ? after.payg?.id : undefined
  }
}

export const insertSettlements = insertInto<NewSettlement>("settlement", {
  request_id: ["uuid", ({ taken }) => taken.requestId],
  user_id: ["uuid", ({ taken }) => taken.userId],
  api_key_id: ["uuid", ({ taken }) => taken.keyId],
  model_id: ["uuid", ({ taken }) => taken.modelId],
  price_id: ["uuid", ({ taken }) => taken.priceId],
  protocol: ["text", ({ taken }) => taken.protocol],
  streamed: ["boolean", ({ taken }) => taken.streamed],
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
  duration_millis: ["int", ({ measured }) => measured.durationMillis],
  held_at: ["timestamptz", ({ taken }) => taken.heldAt]
})
