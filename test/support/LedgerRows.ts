/**
 * Writes ledger rows for tests with SQL: a reseller with a top-up and a mint, and its customer. The customer has a
 * token plan, a pay-as-you-go balance, an open hold and a settlement. The audit finds no violation in these rows.
 */
import { SqlClient } from "@effect/sql"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { Effect } from "effect"
import { counted } from "./rankings/StoredUsage.ts"
import * as Stores from "./Stores.ts"

export interface Ledger {
  readonly userId: string
  readonly keyId: string
  readonly modelId: string
  readonly priceId: string
  readonly plan: string
  readonly payg: string
  readonly held: string
  readonly settled: string
  readonly node: string
  readonly resellerId: string
  /** The quota account: 10 USD topped up, 1 USD removed by an operator, 5 USD minted. */
  readonly quota: string
  readonly tier: string
  readonly mint: string
  readonly credited: string
  readonly pending: string
  /** An order whose payment is not opened yet. */
  readonly draft: string
}

export const EXTERNAL_PAYMENTS = "00000000-0000-0000-0000-000000000001"
export const PLAN_REVENUE = "00000000-0000-0000-0000-000000000002"
export const TOKEN_ISSUANCE = "00000000-0000-0000-0000-000000000003"
export const PAYG_FUNDING = "00000000-0000-0000-0000-000000000004"

let count = 0

/**
 * Writes all rows. The settlement charges 10 input and 5 output tokens, of which the plan pays 8. The hold sets aside 3
 * plan tokens and 500 pico-USD. The model costs 1,000 pico-USD per input token and 4,000 per output token.
 */
export const aLedger = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const user = yield* Stores.aPayer(1_000n)
  const { key } = yield* (yield* ApiKeys).create(user.email, "key", Stores.operator)
  const model = yield* Stores.aModel(`ledger-${++count}`)
  const made = [
    "plan",
    "held",
    "settled",
    "node",
    "resellerId",
    "quota",
    "tier",
    "mint",
    "credited",
    "pending",
    "draft"
  ]
  const [row] = yield* sql.unsafe<Ledger>(`
    SELECT a.id AS payg, ${made.map((name) => `gen_random_uuid() AS "${name}"`).join(", ")}
    FROM account a WHERE a.user_id = '${user.id}' AND a.kind = 'payg'`)
  if (row === undefined) return yield* Effect.dieMessage("the new user has no pay-as-you-go account")
  const ledger: Ledger = { ...row, userId: user.id, keyId: key.id, modelId: model.id, priceId: model.priceId }
  yield* sql.unsafe(`
    ${programmeOf(ledger)}
    INSERT INTO gateway_node (id) VALUES ('${row.node}');
    ${counted(settlementOf(ledger))};
    INSERT INTO open_request (request_id, user_id, api_key_id, model_id, price_id, protocol, streamed, plan_account,
        plan_tokens, payg_account, payg_pico, node_id)
      VALUES ('${row.held}', '${user.id}', '${key.id}', '${model.id}', '${model.priceId}', 'chat', true, '${row.plan}', 3,
        '${row.payg}', 500, '${row.node}');
    UPDATE account SET debits_posted = 22000, debits_pending = 500 WHERE id = '${row.payg}'`)
  return ledger
})

const programmeOf = (ledger: Ledger): string => {
  const { resellerId, quota, tier, mint, credited, pending, draft, plan, userId, modelId } = ledger
  return `
    INSERT INTO reseller (id, email, name, wa_number, password_hash, status)
      VALUES ('${resellerId}', '${resellerId}@example.com', 'Toko', '628123456789', '$argon2id$v=19$m=1$c2FsdA$aGFzaA', 'active');
    INSERT INTO reseller_customer (reseller_id, user_id) VALUES ('${resellerId}', '${userId}');
    INSERT INTO tier (id, model_id, tier_usd_cents, granted_tokens, for_sale) VALUES ('${tier}', '${modelId}', 500, 100, true);
    INSERT INTO account (id, kind, unit, reseller_id, credits_posted, debits_posted)
      VALUES ('${quota}', 'reseller_quota', 'usd_micro', '${resellerId}', 10000000, 6000000);
    INSERT INTO account (id, kind, unit, user_id, model_id, credits_posted, debits_posted, debits_pending)
      VALUES ('${plan}', 'plan', 'token', '${userId}', '${modelId}', 100, 8, 3);
    INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor) VALUES
      (gen_random_uuid(), 'topup', '${credited}', 'usd_micro', '${EXTERNAL_PAYMENTS}', '${quota}', 10000000, 'topup'),
      (gen_random_uuid(), 'quota_adjust', '${quota}', 'usd_micro', '${quota}', '${EXTERNAL_PAYMENTS}', 1000000, 'ada'),
      (gen_random_uuid(), 'mint_pay', '${mint}', 'usd_micro', '${quota}', '${PLAN_REVENUE}', 5000000, 'reseller'),
      (gen_random_uuid(), 'mint_grant', '${mint}', 'token', '${TOKEN_ISSUANCE}', '${plan}', 100, 'reseller');
    INSERT INTO audit_log (actor, action, subject, reason, detail) VALUES ('ada', 'quota.adjust', '${resellerId}', 'because',
      '{"usd_micro": "-1000000", "operation_id": "${quota}"}');
    ${mintOf(ledger)};
    ${orderOf(ledger, "draft", {
      id: `'${draft}'`,
      status: "NULL",
      provision_state: "'creating'",
      provider_payment_id: "NULL",
      instructions: "NULL",
      provider_state: "NULL",
      expires_at: "NULL",
      next_look_at: "NULL",
      deposit_index: "NULL"
    })};
    ${orderOf(ledger, "pending", { id: `'${pending}'` })};
    ${orderOf(ledger, "credited", {
      id: `'${credited}'`,
      status: "'credited'",
      received_raw: "10000000000000000000",
      paid_at: "clock_timestamp()",
      credited_at: "clock_timestamp()",
      next_look_at: "NULL"
    })};`
}

/** Returns an INSERT of a pending `crypto_bep20` order of 10 USD. `otherwise` replaces columns. */
export const orderOf = (
  { resellerId }: Ledger,
  payment: string,
  otherwise: Readonly<Record<string, string>> = {}
): string => {
  const instructions = {
    _tag: "Bep20",
    network: "bsc",
    chainId: 56,
    tokenKind: "usdt",
    contractAddress: "0x55d398326f99059fF775485246999027B3197955",
    expectedRaw: "10000000000000000000",
    depositAddress: `0x${payment}-${resellerId}`
  }
  return insertInto("topup_order", {
    id: "gen_random_uuid()",
    reseller_id: `'${resellerId}'`,
    method: "'crypto_bep20'",
    provider: "'bsc'",
    simulated: "false",
    token_kind: "'usdt'",
    quota_usd_micro: "10000000",
    deposit_index: "nextval('topup_deposit_index')",
    provision_state: "'ready'",
    status: "'pending'",
    provider_payment_id: `'${payment} of ${resellerId}'`,
    instructions: `'${JSON.stringify(instructions)}'`,
    provider_state: "'{}'",
    expires_at: "clock_timestamp() + interval '1 hour'",
    next_look_at: "clock_timestamp()",
    ...otherwise
  })
}

/** Returns an INSERT of the mint. `otherwise` replaces columns. */
export const mintOf = (ledger: Ledger, otherwise: Readonly<Record<string, string>> = {}): string =>
  insertInto("mint", {
    id: `'${ledger.mint}'`,
    reseller_id: `'${ledger.resellerId}'`,
    operation_id: `'${ledger.mint}'`,
    fingerprint: "'f'",
    customer_user_id: `'${ledger.userId}'`,
    model_id: `'${ledger.modelId}'`,
    plan_tier_id: `'${ledger.tier}'`,
    granted_tokens: "100",
    price_usd_micro: "5000000",
    balance_after: "4000000",
    minted_at: "clock_timestamp()",
    ...otherwise
  })

export const insertInto = (table: string, columns: Readonly<Record<string, string>>): string =>
  `INSERT INTO ${table} (${Object.keys(columns).join(", ")}) VALUES (${Object.values(columns).join(", ")})`

/** Returns an INSERT that settles the request `settled`. `otherwise` replaces columns. */
export const settlementOf = (ledger: Ledger, otherwise: Readonly<Record<string, string>> = {}): string => {
  const columns = {
    request_id: `'${ledger.settled}'`,
    user_id: `'${ledger.userId}'`,
    api_key_id: `'${ledger.keyId}'`,
    model_id: `'${ledger.modelId}'`,
    price_id: `'${ledger.priceId}'`,
    protocol: "'chat'",
    streamed: "true",
    ending: "'complete'",
    usage_source: "'upstream'",
    charged_input: "10",
    charged_cache_write: "0",
    charged_cache_read: "0",
    charged_output: "5",
    consumed_input: "10",
    consumed_cache_write: "0",
    consumed_cache_read: "0",
    consumed_output: "6",
    cost_pico: "30000",
    plan_account: `'${ledger.plan}'`,
    plan_tokens: "8",
    plan_value_pico: "8000",
    payg_account: `'${ledger.payg}'`,
    payg_pico: "22000",
    writeoff_pico: "0",
    duration_millis: "900",
    held_at: "clock_timestamp()",
    ...otherwise
  }
  return insertInto("settlement", columns)
}

/** Returns an INSERT of an ended image request in this state. `otherwise` replaces columns. */
export const imageOf = (
  { userId }: Ledger,
  requestId: string,
  state: string,
  otherwise: Readonly<Record<string, string>> = {}
): string =>
  insertInto("image_request", {
    request_id: `'${requestId}'`,
    user_id: `'${userId}'`,
    state: `'${state}'`,
    lease_until: "clock_timestamp() + interval '150 seconds'",
    finished_at: "clock_timestamp() + interval '1 second'",
    ...otherwise
  })

/** Returns an INSERT that settles a failed image request at no cost. `otherwise` replaces columns. */
export const imageSettlementOf = (
  ledger: Ledger,
  requestId: string,
  otherwise: Readonly<Record<string, string>> = {}
): string =>
  settlementOf(ledger, {
    request_id: `'${requestId}'`,
    protocol: "'images'",
    streamed: "false",
    ending: "'failed'",
    usage_source: "'none'",
    charged_input: "0",
    charged_output: "0",
    cost_pico: "0",
    plan_account: "NULL",
    plan_tokens: "0",
    plan_value_pico: "0",
    payg_account: "NULL",
    payg_pico: "0",
    ...otherwise
  })
