/**
 * Rows of the ledger written by hand: a customer with a plan, credit, an open hold and a settlement, all in order.
 */
import { SqlClient } from "@effect/sql"
import { ApiKeys } from "@tollgate/application/ports/ApiKeys"
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
}

let count = 0

/**
 * At the price of `catalogOf`, 1,000 pico-USD a token of input and 4,000 of output: 10 + 5 tokens settled, of which
 * the plan paid the first 8; 3 tokens and 500 pico-USD held.
 */
export const aLedger = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const user = yield* Stores.aPayer(1_000n)
  const { key } = yield* (yield* ApiKeys).create(user.email, "key", Stores.operator)
  const model = yield* Stores.aModel(`ledger-${++count}`)
  const ids = yield* sql<{ plan: string; payg: string; held: string; settled: string; node: string }>`
    SELECT gen_random_uuid() AS plan, a.id AS payg, gen_random_uuid() AS held, gen_random_uuid() AS settled,
      gen_random_uuid() AS node
    FROM account a WHERE a.user_id = ${user.id} AND a.kind = 'payg'`
  const [row] = ids
  if (row === undefined) return yield* Effect.dieMessage("there is no account")
  const ledger: Ledger = { userId: user.id, keyId: key.id, modelId: model.id, priceId: model.priceId, ...row }
  yield* sql.unsafe(`
    INSERT INTO gateway_node (id) VALUES ('${row.node}');
    INSERT INTO account (id, kind, unit, user_id, model_id, credits_posted, debits_posted, debits_pending)
      VALUES ('${row.plan}', 'plan', 'token', '${user.id}', '${model.id}', 100, 8, 3);
    INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor)
      VALUES (gen_random_uuid(), 'mint_grant', '${row.plan}', 'token', '00000000-0000-0000-0000-000000000003', '${row.plan}',
        100, 'ada');
    ${counted(settlementOf(ledger))};
    INSERT INTO inference_hold (request_id, user_id, api_key_id, model_id, price_id, protocol, streamed, plan_account,
        plan_tokens, payg_account, payg_pico, node_id)
      VALUES ('${row.held}', '${user.id}', '${key.id}', '${model.id}', '${model.priceId}', 'chat', true, '${row.plan}', 3,
        '${row.payg}', 500, '${row.node}');
    UPDATE account SET debits_posted = 22000, debits_pending = 500 WHERE id = '${row.payg}'`)
  return ledger
})

/** The statement that settles the request `settled`, with these columns said otherwise. */
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
  return `INSERT INTO settlement (${Object.keys(columns).join(", ")}) VALUES (${Object.values(columns).join(", ")})`
}
