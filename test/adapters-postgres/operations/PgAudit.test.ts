import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { Audit } from "@tollgate/application/operations/Audit"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { Effect } from "effect"
import {
  aLedger,
  EXTERNAL_PAYMENTS,
  imageOf,
  imageSettlementOf,
  insertInto,
  type Ledger,
  PAYG_FUNDING,
  PLAN_REVENUE,
  settlementOf
} from "../../support/LedgerRows.ts"
import { counted } from "../../support/rankings/StoredUsage.ts"
import * as Stores from "../../support/Stores.ts"

/** Runs statements while the triggers and the foreign keys of the schema are disabled. */
const plant = (statements: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql.withTransaction(sql.unsafe(`SET LOCAL session_replication_role = replica; ${statements}`))
  })

const IMAGE = "01890000-0000-7000-8000-000000000001"

/** Returns statements that insert an image request in this state and its settlement without a charge. */
const anImage = (ledger: Ledger, state: string) =>
  `${imageOf(ledger, IMAGE, state)}; ${counted(imageSettlementOf(ledger, IMAGE))}`

/** Returns statements that insert a timed-out image request and its review. */
const aReview = (ledger: Ledger, otherwise: Readonly<Record<string, string>>) =>
  `${anImage(ledger, "timeout")};
    ${insertInto("image_review", { request_id: `'${IMAGE}'`, reason: "'timeout'", ...otherwise })}`

const RESOLVED = { resolved_at: "clock_timestamp() + interval '1 hour'", resolved_by: "'ada'", resolved_because: "'x'" }

const LOGGED = `INSERT INTO audit_log (actor, action, subject, reason, detail)
  VALUES ('ada', 'image.charge', '${IMAGE}', 'x', '{"usd_micro": "5"}')`

interface Corruption {
  readonly what: string
  readonly statements: (ledger: Ledger, other: Ledger) => string
  readonly breaks: ReadonlyArray<string>
}

const corruptions: ReadonlyArray<Corruption> = [
  {
    what: "an account with a negative available balance",
    statements: ({ payg }) => `ALTER TABLE account DROP CONSTRAINT account_available;
      UPDATE account SET debits_pending = credits_posted WHERE id = '${payg}'`,
    breaks: ["no-overdraft", "pending-is-holds"]
  },
  {
    what: "a stored balance of a system account",
    statements: () => `ALTER TABLE account DROP CONSTRAINT account_shape;
      UPDATE account SET credits_posted = 1 WHERE kind = 'system' AND unit = 'token'`,
    breaks: ["system-not-stored"]
  },
  {
    what: "a credit without a transfer",
    statements: ({ payg }) => `UPDATE account SET credits_posted = credits_posted + 1 WHERE id = '${payg}'`,
    breaks: ["credits-are-journal", "units-are-conserved"]
  },
  {
    what: "a debit without a settlement",
    statements: ({ plan }) => `UPDATE account SET debits_posted = debits_posted + 1 WHERE id = '${plan}'`,
    breaks: ["debits-are-journal", "units-are-conserved"]
  },
  {
    what: "a settlement that debited no account",
    statements: (ledger) => counted(settlementOf(ledger, { request_id: "gen_random_uuid()" })),
    breaks: ["debits-are-journal", "units-are-conserved"]
  },
  {
    what: "a pending amount without a hold",
    statements: ({ plan }) => `UPDATE account SET debits_pending = debits_pending + 1 WHERE id = '${plan}'`,
    breaks: ["pending-is-holds"]
  },
  {
    what: "a hold without a pending amount",
    statements: ({ held }) => `UPDATE open_request SET payg_pico = payg_pico + 1 WHERE request_id = '${held}'`,
    breaks: ["pending-is-holds"]
  },
  {
    what: "a plan that was credited without a grant",
    statements: ({ plan }) => `UPDATE transfer SET code = 'topup' WHERE credit_account = '${plan}'`,
    breaks: ["plans-are-grants", "transfers-fit", "topups-are-credited-once", "mints-are-booked"]
  },
  {
    what: "a credit from the wrong system account",
    statements: ({ payg }) =>
      `UPDATE transfer SET debit_account = '00000000-0000-0000-0000-000000000003' WHERE credit_account = '${payg}'`,
    breaks: ["transfers-fit"]
  },
  {
    what: "a transfer from one customer to another",
    statements: ({ payg }, other) => `
      INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor)
        VALUES (gen_random_uuid(), 'quota_adjust', 'x', 'usd_pico', '${payg}', '${other.payg}', 7, 'eve');
      UPDATE account SET debits_posted = debits_posted + 7 WHERE id = '${payg}';
      UPDATE account SET credits_posted = credits_posted + 7 WHERE id = '${other.payg}'`,
    breaks: ["transfers-fit", "adjustments-are-logged"]
  },
  {
    what: "a credit without an entry in the audit log",
    statements: ({ payg }) => `DELETE FROM audit_log WHERE subject = '${payg}'`,
    breaks: ["credits-are-logged"]
  },
  {
    what: "a credit that is logged with a different amount",
    statements: ({ payg }) =>
      `UPDATE audit_log SET detail = detail || '{"usd_micro": "999"}' WHERE subject = '${payg}'`,
    breaks: ["credits-are-logged"]
  },
  {
    what: "a top-up from the system account for plan revenue",
    statements: ({ credited }) =>
      `UPDATE transfer SET debit_account = '${PLAN_REVENUE}' WHERE code = 'topup' AND ref = '${credited}'`,
    breaks: ["transfers-fit"]
  },
  {
    what: "a mint paid to the wrong system account",
    statements: ({ mint }) =>
      `UPDATE transfer SET credit_account = '${EXTERNAL_PAYMENTS}' WHERE code = 'mint_pay' AND ref = '${mint}'`,
    breaks: ["transfers-fit"]
  },
  {
    what: "a quota adjustment without an entry in the audit log",
    statements: ({ resellerId }) => `DELETE FROM audit_log WHERE action = 'quota.adjust' AND subject = '${resellerId}'`,
    breaks: ["adjustments-are-logged"]
  },
  {
    what: "a quota adjustment that is logged with the opposite sign",
    statements: ({ resellerId }) =>
      `UPDATE audit_log SET detail = detail || '{"usd_micro": "1000000"}' WHERE subject = '${resellerId}'`,
    breaks: ["adjustments-are-logged"]
  },
  {
    what: "a reseller without a quota",
    statements: () => `INSERT INTO reseller (id, email, name, wa_number, password_hash)
      VALUES (gen_random_uuid(), 'poor@example.com', 'Poor', '628123456789', '$argon2id$x')`,
    breaks: ["resellers-have-quotas"]
  },
  {
    what: "a quota that was credited without a transfer",
    statements: ({ quota }) => `UPDATE account SET credits_posted = credits_posted + 1 WHERE id = '${quota}'`,
    breaks: ["credits-are-journal", "quotas-are-earned", "units-are-conserved"]
  },
  {
    what: "a credited order without a transfer",
    statements: ({ pending }) => `UPDATE topup_order SET status = 'credited', paid_at = clock_timestamp(),
      credited_at = clock_timestamp(), next_look_at = NULL WHERE id = '${pending}'`,
    breaks: ["quotas-are-earned", "topups-are-credited-once"]
  },
  {
    what: "a transfer for an order that is not credited",
    statements: ({ pending, quota }) => `
      INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor) VALUES
        (gen_random_uuid(), 'topup', '${pending}', 'usd_micro', '${EXTERNAL_PAYMENTS}', '${quota}', 10000000, 'eve');
      UPDATE account SET credits_posted = credits_posted + 10000000 WHERE id = '${quota}'`,
    breaks: ["quotas-are-earned", "topups-are-credited-once"]
  },
  {
    what: "an order with two transfers",
    statements: ({ credited, quota }) => `
      ALTER TABLE topup_order DROP CONSTRAINT topup_transferred;
      ALTER TABLE transfer DROP CONSTRAINT transfer_code_ref_key, DROP CONSTRAINT transfer_code_ref_amount_key CASCADE;
      INSERT INTO transfer SELECT gen_random_uuid(), code, ref, unit, debit_account, credit_account, amount, actor
        FROM transfer WHERE code = 'topup' AND ref = '${credited}';
      UPDATE account SET credits_posted = credits_posted + 10000000 WHERE id = '${quota}'`,
    breaks: ["quotas-are-earned", "topups-are-credited-once"]
  },
  {
    what: "an order that was credited to another reseller",
    statements: ({ credited }, other) =>
      `UPDATE topup_order SET reseller_id = '${other.resellerId}' WHERE id = '${credited}'`,
    breaks: ["quotas-are-earned", "topups-are-credited-once"]
  },
  {
    what: "a mint with another price than its transfer",
    statements: ({ mint }) => `UPDATE mint SET price_usd_micro = 1 WHERE id = '${mint}'`,
    breaks: ["quotas-are-earned", "mints-are-booked", "mints-cost-their-tier"]
  },
  {
    what: "a mint with another price than its tier",
    statements: ({ tier }) => `UPDATE tier SET tier_usd_cents = 501 WHERE id = '${tier}'`,
    breaks: ["mints-cost-their-tier"]
  },
  {
    what: "a mint of a tier of another model",
    statements: ({ mint }, other) => `UPDATE mint SET plan_tier_id = '${other.tier}' WHERE id = '${mint}'`,
    breaks: ["mints-cost-their-tier"]
  },
  {
    what: "a mint with another number of tokens than its transfer",
    statements: ({ mint }) => `UPDATE mint SET granted_tokens = 1 WHERE id = '${mint}'`,
    breaks: ["mints-are-booked"]
  },
  {
    what: "a mint that was granted to another customer",
    statements: ({ mint }, other) => `UPDATE mint SET customer_user_id = '${other.userId}' WHERE id = '${mint}'`,
    breaks: ["mints-are-booked"]
  },
  {
    what: "granted tokens without a mint",
    statements: ({ mint }) => `DELETE FROM mint WHERE id = '${mint}'`,
    breaks: ["quotas-are-earned", "mints-are-booked"]
  },
  {
    what: "a settlement with a pay-as-you-go amount and no account",
    statements: ({ settled, payg }) => `
      DO $$ DECLARE c text; BEGIN FOR c IN SELECT conname FROM pg_constraint
        WHERE conrelid = 'settlement'::regclass AND pg_get_constraintdef(oid) LIKE '%payg_account IS NOT NULL%'
        LOOP EXECUTE format('ALTER TABLE settlement DROP CONSTRAINT %I', c); END LOOP; END $$;
      UPDATE settlement SET payg_account = NULL WHERE request_id = '${settled}';
      UPDATE account SET debits_posted = 0 WHERE id = '${payg}'`,
    breaks: ["units-are-conserved", "payers-are-owners"]
  },
  {
    what: "a settlement with parts that do not add up",
    statements: ({ settled }) => `ALTER TABLE settlement DROP CONSTRAINT settlement_adds_up;
      UPDATE settlement SET writeoff_pico = 1 WHERE request_id = '${settled}'`,
    breaks: ["settlements-add-up"]
  },
  {
    what: "a settlement with a wrong cost",
    statements: ({ settled }) =>
      `UPDATE settlement SET charged_output = 6, consumed_output = 6 WHERE request_id = '${settled}'`,
    breaks: ["cost-is-price", "domain-agrees"]
  },
  {
    what: "a settlement at the price of another model",
    statements: ({ settled }, other) =>
      `UPDATE settlement SET price_id = '${other.priceId}' WHERE request_id = '${settled}'`,
    breaks: ["cost-is-price"]
  },
  {
    what: "a settlement with a wrong plan value",
    statements: ({ settled, payg }) => `
      UPDATE settlement SET plan_value_pico = plan_value_pico + 1000, payg_pico = payg_pico - 1000
        WHERE request_id = '${settled}';
      UPDATE account SET debits_posted = debits_posted - 1000 WHERE id = '${payg}'`,
    breaks: ["domain-agrees"]
  },
  {
    what: "a failed request that was charged",
    statements: ({ settled }) => `ALTER TABLE settlement DROP CONSTRAINT settlement_failed_is_free;
      UPDATE settlement SET ending = 'failed' WHERE request_id = '${settled}'`,
    breaks: ["failed-is-free"]
  },
  {
    what: "a settlement with charged tokens and no usage source",
    statements: ({ settled }) => `UPDATE settlement SET usage_source = 'none' WHERE request_id = '${settled}'`,
    breaks: ["charges-have-sources"]
  },
  {
    what: "a settlement that charges more tokens than were consumed",
    statements: ({ settled }) => `UPDATE settlement SET consumed_output = 4 WHERE request_id = '${settled}'`,
    breaks: ["charged-was-consumed", "usage-is-settled"]
  },
  {
    what: "a settlement with another user's key",
    statements: ({ settled }, other) =>
      `UPDATE settlement SET api_key_id = '${other.keyId}' WHERE request_id = '${settled}'`,
    breaks: ["payers-are-owners"]
  },
  {
    what: "two settlements that each debit the balance of the other customer",
    statements: (ledger, other) => `
      UPDATE settlement SET payg_account = '${other.payg}' WHERE request_id = '${ledger.settled}';
      UPDATE settlement SET payg_account = '${ledger.payg}' WHERE request_id = '${other.settled}'`,
    breaks: ["payers-are-owners"]
  },
  {
    what: "two customers with holds on each other's balances",
    statements: (ledger, other) => `
      UPDATE open_request SET payg_account = '${other.payg}' WHERE request_id = '${ledger.held}';
      UPDATE open_request SET payg_account = '${ledger.payg}' WHERE request_id = '${other.held}'`,
    breaks: ["holders-are-owners"]
  },
  {
    what: "a hold at the price of another model",
    statements: ({ held }, other) =>
      `UPDATE open_request SET price_id = '${other.priceId}' WHERE request_id = '${held}'`,
    breaks: ["holds-can-be-settled"]
  },
  {
    what: "a hold at an unknown price",
    statements: ({ held }) => `UPDATE open_request SET price_id = gen_random_uuid() WHERE request_id = '${held}'`,
    breaks: ["holds-can-be-settled"]
  },
  {
    what: "a hold for an unknown model",
    statements: ({
      held,
      plan
    }) => `UPDATE open_request SET plan_account = NULL, plan_tokens = 0, model_id = gen_random_uuid()
        WHERE request_id = '${held}';
      UPDATE account SET debits_pending = 0 WHERE id = '${plan}'`,
    breaks: ["holds-can-be-settled"]
  },
  {
    what: "a hold with another user's key",
    statements: ({ held }, other) =>
      `UPDATE open_request SET api_key_id = '${other.keyId}' WHERE request_id = '${held}'`,
    breaks: ["holds-can-be-settled"]
  },
  {
    what: "a limited key with a pending amount without a hold",
    statements: ({ keyId }) => `UPDATE api_key SET counted = true WHERE id = '${keyId}';
      INSERT INTO counted_key (key_id, day, requests_per_minute, pending_pico) VALUES ('${keyId}', '2026-11-20', 60, 1)`,
    breaks: ["limited-keys-add-up"]
  },
  {
    what: "a request with both a hold and a settlement",
    statements: ({ held, settled }) => `INSERT INTO open_request (request_id, user_id, api_key_id, model_id, price_id,
        protocol, streamed, plan_tokens, payg_pico, node_id)
      SELECT '${settled}', user_id, api_key_id, model_id, price_id, protocol, streamed, 0, 0, node_id
        FROM open_request WHERE request_id = '${held}'`,
    breaks: ["held-or-settled"]
  },
  {
    what: "an old hold of a dead node",
    statements: ({ held, node }) => `
      UPDATE open_request SET held_at = held_at - interval '11 minutes' WHERE request_id = '${held}';
      UPDATE gateway_node SET beat_at = beat_at - interval '11 minutes' WHERE id = '${node}'`,
    breaks: ["no-forgotten-holds"]
  },
  {
    what: "a hold of an unknown node",
    statements: ({ held, node }) => `
      UPDATE open_request SET held_at = held_at - interval '11 minutes' WHERE request_id = '${held}';
      DELETE FROM gateway_node WHERE id = '${node}'`,
    breaks: ["no-forgotten-holds"]
  },
  {
    what: "a model with the price of another model",
    statements: ({ modelId }, other) => `UPDATE model SET price_id = '${other.priceId}' WHERE id = '${modelId}'`,
    breaks: ["models-have-prices"]
  },
  {
    what: "an ended image request without a settlement",
    statements: (ledger) => imageOf(ledger, IMAGE, "failed"),
    breaks: ["images-are-accounted"]
  },
  {
    what: "an image request that was settled for another user",
    statements: (ledger, other) => `${imageOf(other, IMAGE, "failed")}; ${counted(imageSettlementOf(ledger, IMAGE))}`,
    breaks: ["images-are-accounted"]
  },
  {
    what: "an image settlement without an image request",
    statements: (ledger) => counted(imageSettlementOf(ledger, IMAGE)),
    breaks: ["images-are-requested"]
  },
  {
    what: "an image that failed and has a cost",
    statements: (ledger) => `${imageOf(ledger, IMAGE, "failed")};
      ${counted(
        imageSettlementOf(ledger, IMAGE, {
          ending: "'complete'",
          usage_source: "'upstream'",
          charged_input: "10",
          cost_pico: "10000",
          writeoff_pico: "10000"
        })
      )}`,
    breaks: ["images-cost-when-settled"]
  },
  {
    what: "a settled image that was not metered",
    statements: (ledger) => anImage(ledger, "settled"),
    breaks: ["images-cost-when-settled"]
  },
  {
    what: "an image request that runs long after its lease",
    statements: (ledger) =>
      `${imageOf(ledger, IMAGE, "running", {
        started_at: "clock_timestamp() - interval '14 minutes'",
        lease_until: "clock_timestamp() - interval '11 minutes'",
        finished_at: "NULL"
      })}; ${counted(imageSettlementOf(ledger, IMAGE))}`,
    breaks: ["no-forgotten-images"]
  },
  {
    what: "a timed-out image without a review",
    statements: (ledger) => anImage(ledger, "timeout"),
    breaks: ["images-are-reviewed"]
  },
  {
    what: "an image review with a wrong reason",
    statements: (ledger) => `${aReview(ledger, {})}; UPDATE image_review SET reason = 'withheld'`,
    breaks: ["images-are-reviewed"]
  },
  {
    what: "a review with a charge and no transfer",
    statements: (ledger) =>
      `${aReview(ledger, { ...RESOLVED, resolution: "'charged'", charged_usd_micro: "5" })}; ${LOGGED}`,
    breaks: ["image-charges-are-resolved"]
  },
  {
    what: "an image that was charged to another user",
    statements: (ledger, { payg }) => `
      ${aReview(ledger, { ...RESOLVED, resolution: "'charged'", charged_usd_micro: "5" })}; ${LOGGED};
      INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor)
        VALUES (gen_random_uuid(), 'image_charge', '${IMAGE}', 'usd_pico', '${payg}', '${PAYG_FUNDING}', 5000000, 'ada');
      UPDATE account SET debits_posted = debits_posted + 5000000 WHERE id = '${payg}'`,
    breaks: ["image-charges-are-resolved"]
  },
  {
    what: "an image charge without a review",
    statements: ({ payg }) => `
      INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor)
        VALUES (gen_random_uuid(), 'image_charge', '${IMAGE}', 'usd_pico', '${payg}', '${PAYG_FUNDING}', 5, 'eve');
      UPDATE account SET debits_posted = debits_posted + 5 WHERE id = '${payg}'`,
    breaks: ["image-charges-are-resolved"]
  },
  {
    what: "a resolved review without an entry in the audit log",
    statements: (ledger) => aReview(ledger, { ...RESOLVED, resolution: "'waived'" }),
    breaks: ["resolutions-are-logged"]
  },
  {
    what: "settled tokens that the rankings do not count",
    statements: ({ modelId }) => `DELETE FROM usage_delta WHERE model_id = '${modelId}'`,
    breaks: ["usage-is-settled"]
  },
  {
    what: "a counted speed that no settlement has",
    statements: ({ modelId }) =>
      `INSERT INTO speed_rollup SELECT 'minute', minute, model_id, 'tps', '{1}', '{1}'
        FROM usage_delta WHERE model_id = '${modelId}'`,
    breaks: ["speeds-are-settled"]
  }
]

describe.concurrent("the audit of an inconsistent ledger", () => {
  for (const { what, statements, breaks } of corruptions) {
    it.live(`finds ${what}`, () =>
      Effect.gen(function* () {
        const [ledger, other] = [yield* aLedger, yield* aLedger]
        yield* plant(statements(ledger, other))
        expect(yield* Stores.brokenInvariants).toEqual(breaks)
      }).pipe(Effect.provide(Stores.layer))
    )
  }

  it.live("finds a corruption with each of its checks", () =>
    Effect.gen(function* () {
      const { checks } = yield* Effect.flatMap(Audit, ({ audit }) => audit)
      expect(checks.map(({ id }) => id).sort()).toEqual(
        [...new Set(corruptions.flatMap(({ breaks }) => breaks))].sort()
      )
    }).pipe(Effect.provide(Stores.layer))
  )
})

describe("the audit of a ledger", () => {
  it.live("finds nothing in a consistent ledger", () =>
    Effect.gen(function* () {
      const { held } = yield* aLedger
      yield* plant(`UPDATE open_request SET held_at = held_at - interval '2 hours' WHERE request_id = '${held}'`)
      expect(yield* Stores.brokenInvariants).toEqual([])
    }).pipe(Effect.provide(Stores.layer))
  )

  it.live("finds nothing while concurrent credits change a balance", () =>
    Effect.gen(function* () {
      const user = yield* Stores.aUser
      const credits = Effect.forEach(
        Array.from({ length: 40 }, (_, i) => OperationId.make(`credit ${i}`)),
        (operationId) =>
          Effect.flatMap(PaygAccounts, (accounts) =>
            accounts.credit({ email: user.email, amount: UsdMicro(1n), operationId, operator: Stores.operator })
          ),
        { concurrency: 4 }
      )
      const audits = Effect.all(Array.from({ length: 4 }, () => Stores.brokenInvariants))
      const [found] = yield* Effect.all([audits, credits], { concurrency: 2 })
      expect(found.flat()).toEqual([])
    }).pipe(Effect.provide(Stores.layer))
  )

  it.live("finds each of four wrong settlements among 10,008 settlements", () =>
    Effect.gen(function* () {
      const ledger = yield* aLedger
      const many = settlementOf(ledger, {
        request_id: "lpad(to_hex(i), 32, '0')::uuid",
        plan_account: "NULL",
        plan_tokens: "0",
        plan_value_pico: "CASE WHEN i IN (1, 5000, 5001, 10007) THEN 1 ELSE 0 END",
        payg_account: "NULL",
        payg_pico: "0",
        writeoff_pico: "CASE WHEN i IN (1, 5000, 5001, 10007) THEN 29999 ELSE 30000 END"
      }).replace(/ VALUES \((.*)\)$/, " SELECT $1 FROM generate_series(1, 10007) i")
      yield* plant(counted(many))
      const { checks } = yield* Effect.flatMap(Audit, ({ audit }) => audit)
      expect(checks.filter(({ violations }) => violations > 0n)).toMatchObject([
        { id: "domain-agrees", violations: 4n }
      ])
    }).pipe(Effect.provide(Stores.layer))
  )

  it.live("reports the operator loss", () =>
    Effect.gen(function* () {
      const ledger = yield* aLedger
      const clientGone = counted(
        settlementOf(ledger, {
          request_id: "gen_random_uuid()",
          ending: "'client_gone'",
          charged_input: "1000000000",
          consumed_input: "1000000000",
          charged_output: "0",
          consumed_output: "500000000",
          cost_pico: "1000000000000",
          plan_account: "NULL",
          plan_tokens: "0",
          plan_value_pico: "0",
          payg_account: "NULL",
          payg_pico: "0",
          writeoff_pico: "1000000000000"
        })
      )
      yield* plant(clientGone)
      const { checks, figures } = yield* Effect.flatMap(Audit, ({ audit }) => audit)
      expect(checks.filter(({ violations }) => violations > 0n)).toEqual([])
      expect(figures).toEqual([
        { name: "accounts", value: "3" },
        { name: "settlements", value: "2" },
        { name: "holds_open", value: "1" },
        { name: "topups_crediting", value: "0" },
        { name: "quota_usd", value: "4.000000" },
        { name: "written_off_usd", value: "1.000000" },
        { name: "written_off_whole_response_usd", value: "0.000000" },
        { name: "written_off_reported_usage_usd", value: "1.000000" },
        { name: "written_off_prompt_count_usd", value: "0.000000" },
        { name: "written_off_image_usd", value: "0.000000" },
        { name: "written_off_orphaned_usd", value: "0.000000" },
        { name: "operator_loss_usd", value: "2.000000" }
      ])
    }).pipe(Effect.provide(Stores.layer))
  )

  it.live("reports the write-offs by reason", () =>
    Effect.gen(function* () {
      const ledger = yield* aLedger
      const reasons = [
        { reason: "whole_response", usd: 1, columns: { streamed: "false" } },
        { reason: "whole_response", usd: 2, columns: { streamed: "false", protocol: "'embeddings'" } },
        { reason: "reported_usage", usd: 4, columns: {} },
        { reason: "reported_usage", usd: 8, columns: { usage_source: "'mixed'", ending: "'client_gone'" } },
        { reason: "prompt_count", usd: 16, columns: { usage_source: "'local'", ending: "'balance_exhausted'" } },
        { reason: "image", usd: 32, columns: { streamed: "false", protocol: "'images'" } },
        { reason: "orphaned", usd: 64, columns: { usage_source: "'checkpoint'", ending: "'orphaned'" } }
      ]
      for (const { columns, usd } of reasons) {
        const pico = `${usd}000000000000`
        const writtenOff = {
          plan_tokens: "0",
          plan_value_pico: "0",
          payg_pico: "0",
          cost_pico: pico,
          writeoff_pico: pico
        }
        yield* plant(settlementOf(ledger, { request_id: "gen_random_uuid()", ...writtenOff, ...columns }))
      }
      const { figures } = yield* Effect.flatMap(Audit, ({ audit }) => audit)
      expect(figures.filter(({ name }) => name.startsWith("written_off"))).toEqual([
        { name: "written_off_usd", value: "127.000000" },
        { name: "written_off_whole_response_usd", value: "3.000000" },
        { name: "written_off_reported_usage_usd", value: "12.000000" },
        { name: "written_off_prompt_count_usd", value: "16.000000" },
        { name: "written_off_image_usd", value: "32.000000" },
        { name: "written_off_orphaned_usd", value: "64.000000" }
      ])
    }).pipe(Effect.provide(Stores.layer))
  )
})
