import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { sqlState } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import { Effect } from "effect"
import { aLedger, type Ledger, settlementOf } from "../../support/LedgerRows.ts"
import * as Stores from "../../support/Stores.ts"

const CHECK = "23514"
const UNIQUE = "23505"
const FOREIGN_KEY = "23503"
const RESTRICT = "23001"

// The constraints that an error must name, so that an unrelated error fails the test.
const OVERSPENT = "account_available"
const ADDS_UP = "settlement_adds_up"
const FAILED_IS_FREE = "settlement_failed_is_free"

const FUNDING = "00000000-0000-0000-0000-000000000004"

const transfer = (columns: Readonly<Record<string, string>>) => {
  const all = { id: "gen_random_uuid()", ref: "gen_random_uuid()::text", actor: "'ada'", ...columns }
  return `INSERT INTO transfer (${Object.keys(all).join(", ")}) VALUES (${Object.values(all).join(", ")})`
}

interface WrongState {
  readonly what: string
  readonly statement: (ledger: Ledger) => string
  readonly refusedWith: string
  readonly by?: string
}

const wrongStates: ReadonlyArray<WrongState> = [
  {
    what: "a debit of more than the balance of an account",
    statement: ({ payg }) =>
      `UPDATE account SET debits_posted = credits_posted + 1, debits_pending = 0 WHERE id = '${payg}'`,
    refusedWith: CHECK,
    by: OVERSPENT
  },
  {
    what: "a hold of more than the balance of an account",
    statement: ({ plan }) =>
      `UPDATE account SET debits_pending = credits_posted - debits_posted + 1 WHERE id = '${plan}'`,
    refusedWith: CHECK,
    by: OVERSPENT
  },
  {
    what: "a hold that is released twice",
    statement: ({ plan }) => `UPDATE account SET debits_pending = debits_pending - 4 WHERE id = '${plan}'`,
    refusedWith: CHECK
  },
  {
    what: "a decrease of credits",
    statement: ({ payg }) => `UPDATE account SET credits_posted = credits_posted - 1 WHERE id = '${payg}'`,
    refusedWith: RESTRICT
  },
  {
    what: "a decrease of debits",
    statement: ({ payg }) => `UPDATE account SET debits_posted = debits_posted - 1 WHERE id = '${payg}'`,
    refusedWith: RESTRICT
  },
  {
    what: "a change of an account's owner",
    statement: ({ plan, userId }) =>
      `UPDATE account SET user_id = (SELECT id FROM app_user WHERE id <> '${userId}' LIMIT 1) WHERE id = '${plan}'`,
    refusedWith: RESTRICT
  },
  {
    what: "the deletion of an account",
    statement: ({ plan }) => `DELETE FROM account WHERE id = '${plan}'`,
    refusedWith: RESTRICT
  },
  {
    what: "a stored balance of a system account",
    statement: () => `UPDATE account SET credits_posted = 1 WHERE id = '${FUNDING}'`,
    refusedWith: CHECK
  },
  {
    what: "a pay-as-you-go account in tokens",
    statement: () =>
      "INSERT INTO account (id, kind, unit, user_id) SELECT gen_random_uuid(), 'payg', 'token', id FROM app_user",
    refusedWith: CHECK
  },
  {
    what: "a plan account without a model",
    statement: ({ userId }) =>
      `INSERT INTO account (id, kind, unit, user_id) VALUES (gen_random_uuid(), 'plan', 'token', '${userId}')`,
    refusedWith: CHECK
  },
  {
    what: "a plan above the largest safe integer of JavaScript",
    statement: ({ plan }) => `UPDATE account SET credits_posted = 9007199254740992 WHERE id = '${plan}'`,
    refusedWith: CHECK
  },
  {
    what: "an unknown kind of account",
    statement: () => "INSERT INTO account (id, kind, unit) VALUES (gen_random_uuid(), 'wallet', 'usd_pico')",
    refusedWith: CHECK
  },
  {
    what: "a second pay-as-you-go account of a user",
    statement: ({ userId }) =>
      `INSERT INTO account (id, kind, unit, user_id) VALUES (gen_random_uuid(), 'payg', 'usd_pico', '${userId}')`,
    refusedWith: UNIQUE
  },
  {
    what: "a second plan of a user for the same model",
    statement: ({ userId, modelId }) =>
      `INSERT INTO account (id, kind, unit, user_id, model_id)
        VALUES (gen_random_uuid(), 'plan', 'token', '${userId}', '${modelId}')`,
    refusedWith: UNIQUE
  },
  {
    what: "a transfer between accounts with different units",
    statement: ({ plan }) =>
      transfer({
        code: "'payg_credit'",
        unit: "'usd_pico'",
        debit_account: `'${FUNDING}'`,
        credit_account: `'${plan}'`,
        amount: "1"
      }),
    refusedWith: FOREIGN_KEY
  },
  {
    what: "a transfer of zero",
    statement: ({ payg }) =>
      transfer({
        code: "'payg_credit'",
        unit: "'usd_pico'",
        debit_account: `'${FUNDING}'`,
        credit_account: `'${payg}'`,
        amount: "0"
      }),
    refusedWith: CHECK
  },
  {
    what: "a transfer from an account to itself",
    statement: ({ payg }) =>
      transfer({
        code: "'payg_credit'",
        unit: "'usd_pico'",
        debit_account: `'${payg}'`,
        credit_account: `'${payg}'`,
        amount: "1"
      }),
    refusedWith: CHECK
  },
  {
    what: "a second transfer with the same code for one operation",
    statement: ({ payg }) =>
      `INSERT INTO transfer SELECT gen_random_uuid(), code, ref, unit, debit_account, credit_account, amount, actor
        FROM transfer WHERE credit_account = '${payg}'`,
    refusedWith: UNIQUE
  },
  {
    what: "a second settlement for the same request",
    statement: (ledger) => settlementOf(ledger),
    refusedWith: UNIQUE
  },
  {
    what: "a settlement with parts that do not add up",
    statement: (ledger) => settlementOf(ledger, { request_id: "gen_random_uuid()", writeoff_pico: "1" }),
    refusedWith: CHECK,
    by: ADDS_UP
  },
  {
    what: "a failed request that costs something",
    statement: (ledger) => settlementOf(ledger, { request_id: "gen_random_uuid()", ending: "'failed'" }),
    refusedWith: CHECK,
    by: FAILED_IS_FREE
  },
  {
    what: "a failed request that uses a plan at no cost",
    statement: (ledger) =>
      settlementOf(ledger, {
        request_id: "gen_random_uuid()",
        ending: "'failed'",
        cost_pico: "0",
        plan_value_pico: "0",
        payg_pico: "0"
      }),
    refusedWith: CHECK,
    by: FAILED_IS_FREE
  },
  {
    what: "a settlement that debits more plan tokens than are charged",
    statement: (ledger) => settlementOf(ledger, { request_id: "gen_random_uuid()", plan_tokens: "16" }),
    refusedWith: CHECK
  },
  {
    what: "a settlement with a pay-as-you-go amount and no account",
    statement: (ledger) => settlementOf(ledger, { request_id: "gen_random_uuid()", payg_account: "NULL" }),
    refusedWith: CHECK
  },
  {
    what: "a settlement with another user's key",
    statement: (ledger) =>
      settlementOf(ledger, {
        request_id: "gen_random_uuid()",
        user_id: `(SELECT id FROM app_user WHERE id <> '${ledger.userId}' LIMIT 1)`
      }),
    refusedWith: FOREIGN_KEY
  },
  {
    what: "a settlement at the price of another model",
    statement: (ledger) =>
      settlementOf(ledger, {
        request_id: "gen_random_uuid()",
        price_id: `(SELECT id FROM price WHERE id <> '${ledger.priceId}' LIMIT 1)`
      }),
    refusedWith: FOREIGN_KEY
  },
  {
    what: "a settlement paid from an account that does not exist",
    statement: (ledger) => settlementOf(ledger, { request_id: "gen_random_uuid()", payg_account: "gen_random_uuid()" }),
    refusedWith: FOREIGN_KEY
  },
  {
    what: "a settlement with a plan that does not exist",
    statement: (ledger) => settlementOf(ledger, { request_id: "gen_random_uuid()", plan_account: "gen_random_uuid()" }),
    refusedWith: FOREIGN_KEY
  },
  {
    what: "a settlement with a pay-as-you-go account as its plan",
    statement: (ledger) => settlementOf(ledger, { request_id: "gen_random_uuid()", plan_account: `'${ledger.payg}'` }),
    refusedWith: FOREIGN_KEY
  },
  {
    what: "a settlement paid from the plan of another model",
    statement: (ledger) => `
      WITH other AS (
        INSERT INTO account (id, kind, unit, user_id, model_id)
        SELECT gen_random_uuid(), 'plan', 'token', '${ledger.userId}', id FROM model WHERE id <> '${ledger.modelId}' LIMIT 1
        RETURNING id)
      ${settlementOf(ledger, { request_id: "gen_random_uuid()", plan_account: "(SELECT id FROM other)" })}`,
    refusedWith: FOREIGN_KEY
  },
  {
    what: "a settlement paid from another user's pay-as-you-go account",
    statement: (ledger) =>
      settlementOf(ledger, {
        request_id: "gen_random_uuid()",
        payg_account: `(SELECT id FROM account WHERE kind = 'payg' AND user_id <> '${ledger.userId}' LIMIT 1)`
      }),
    refusedWith: FOREIGN_KEY
  },
  {
    what: "the deletion of an API key",
    statement: ({ keyId }) => `DELETE FROM api_key WHERE id = '${keyId}'`,
    refusedWith: RESTRICT
  },
  {
    what: "a change of an API key's owner",
    statement: ({ keyId, userId }) =>
      `UPDATE api_key SET user_id = (SELECT id FROM app_user WHERE id <> '${userId}' LIMIT 1) WHERE id = '${keyId}'`,
    refusedWith: RESTRICT
  },
  {
    what: "a model with the price of another model",
    statement: ({ modelId, priceId }) =>
      `UPDATE model SET price_id = (SELECT id FROM price WHERE id <> '${priceId}' LIMIT 1) WHERE id = '${modelId}';
        SET CONSTRAINTS ALL IMMEDIATE`,
    refusedWith: FOREIGN_KEY
  },
  {
    what: "a second row for the same price of a model",
    statement: ({ priceId }) =>
      `INSERT INTO price SELECT gen_random_uuid(), model_id, input, cache_write, cache_read, output FROM price WHERE id = '${priceId}'`,
    refusedWith: UNIQUE
  },
  {
    what: "a second hold for the same request",
    statement: ({ held }) => `INSERT INTO open_request SELECT * FROM open_request WHERE request_id = '${held}'`,
    refusedWith: UNIQUE
  },
  {
    what: "a hold with a pay-as-you-go amount and no account",
    statement: ({ held }) => `UPDATE open_request SET payg_account = NULL WHERE request_id = '${held}'`,
    refusedWith: CHECK
  },
  {
    what: "an API key with a MAC that is too short",
    statement: ({ keyId }) => `UPDATE api_key SET secret_mac = 'short' WHERE id = '${keyId}'`,
    refusedWith: CHECK
  },
  {
    what: "a user with an email that is not in lower case",
    statement: () => "INSERT INTO app_user (id, email) VALUES (gen_random_uuid(), 'Ada@example.com')",
    refusedWith: CHECK
  },
  ...Object.entries({ transfer: "actor", settlement: "ending", price: "input", audit_log: "reason" }).flatMap(
    ([journal, column]) => [
      {
        what: `a change to ${journal}`,
        statement: () => `UPDATE ${journal} SET ${column} = ${column}`,
        refusedWith: RESTRICT
      },
      { what: `a deletion from ${journal}`, statement: () => `DELETE FROM ${journal}`, refusedWith: RESTRICT },
      { what: `a truncation of ${journal}`, statement: () => `TRUNCATE ${journal} CASCADE`, refusedWith: RESTRICT }
    ]
  )
]

describe("the schema of the ledger", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    for (const { what, statement, refusedWith, by } of wrongStates) {
      it.effect(`refuses ${what}`, () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          // A second customer, so that rows of another customer exist.
          yield* aLedger
          const ledger = yield* aLedger
          const error = yield* sql.withTransaction(sql.unsafe(statement(ledger))).pipe(Effect.flip)
          expect({ state: sqlState(error), cause: String(error.cause) }).toMatchObject({ state: refusedWith })
          if (by !== undefined) expect(error.cause).toMatchObject({ constraint: by })
        })
      )
    }
  })

  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.effect("accepts the rows of a consistent ledger", () =>
      Effect.gen(function* () {
        yield* aLedger
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )
  })
})
