import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { sqlState } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import { TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import { Context, Effect, Layer } from "effect"
import { aLedger, EXTERNAL_PAYMENTS, insertInto, type Ledger, mintOf, orderOf } from "../../support/LedgerRows.ts"
import * as Stores from "../../support/Stores.ts"

const CHECK = "23514"
const UNIQUE = "23505"
const FOREIGN_KEY = "23503"
const RESTRICT = "23001"

interface WrongState {
  readonly what: string
  readonly statement: (ledger: Ledger, other: Ledger) => string
  readonly refusedWith: string
  /** The constraint name or text that the error must contain, so that an unrelated error fails the test. */
  readonly by: string | undefined
}

const wrong = (what: string, statement: WrongState["statement"], refusedWith: string, by?: string): WrongState => ({
  what,
  statement,
  refusedWith,
  by
})

const aResellerRow = (otherwise: Readonly<Record<string, string>>) =>
  insertInto("reseller", {
    id: "gen_random_uuid()",
    email: "'new@example.com'",
    name: "'Toko'",
    wa_number: "'628123456789'",
    password_hash: "'$argon2id$x'",
    ...otherwise
  })

const updated = (table: string, change: string, id: string) => `UPDATE ${table} SET ${change} WHERE id = '${id}'`

const resellers: ReadonlyArray<WrongState> = [
  wrong(
    "a reseller with an email that is not in lower case",
    () => aResellerRow({ email: "'New@example.com'" }),
    CHECK
  ),
  wrong(
    "a second reseller with the same email",
    ({ resellerId }) => aResellerRow({ email: `'${resellerId}@example.com'` }),
    UNIQUE,
    "reseller_email_key"
  ),
  wrong("a reseller with an invalid WhatsApp number", () => aResellerRow({ wa_number: "'+62812345678'" }), CHECK),
  wrong("a reseller with a password in plain text", () => aResellerRow({ password_hash: "'correct horse'" }), CHECK),
  wrong("a reseller with an unknown status", () => aResellerRow({ status: "'closed'" }), CHECK),
  wrong(
    "an active reseller that becomes pending again",
    ({ resellerId }) => updated("reseller", "status = 'pending'", resellerId),
    RESTRICT,
    "change of the status is not allowed"
  ),
  wrong(
    "a suspension that does not increase the token version",
    ({ resellerId }) => updated("reseller", "status = 'suspended'", resellerId),
    RESTRICT,
    "token version"
  ),
  wrong(
    "a decrease of the token version",
    ({ resellerId }) => `${updated("reseller", "token_version = 3", resellerId)};
      ${updated("reseller", "token_version = 2", resellerId)}`,
    RESTRICT,
    "token version"
  ),
  wrong(
    "a change of a reseller's email",
    ({ resellerId }) => updated("reseller", "email = 'else@example.com'", resellerId),
    RESTRICT,
    "the email address and the creation time must not change"
  ),
  wrong("the deletion of a reseller", ({ resellerId }) => `DELETE FROM reseller WHERE id = '${resellerId}'`, RESTRICT),
  wrong(
    "a blacklist pattern that is not in lower case",
    () => insertInto("email_blacklist", { pattern: "'@Bad.example'" }),
    CHECK
  ),
  wrong(
    "a blacklist pattern that is no email address or domain",
    () => insertInto("email_blacklist", { pattern: "'bad.example'" }),
    CHECK
  ),
  wrong(
    "a second link between the same reseller and user",
    ({ resellerId, userId }) =>
      insertInto("reseller_customer", { reseller_id: `'${resellerId}'`, user_id: `'${userId}'` }),
    UNIQUE
  ),
  wrong(
    "a customer link to an unknown user",
    ({ resellerId }) =>
      insertInto("reseller_customer", { reseller_id: `'${resellerId}'`, user_id: "gen_random_uuid()" }),
    FOREIGN_KEY
  ),
  wrong("a login window without a key", () => insertInto("login_window", { key: "''" }), CHECK),
  wrong(
    "a login window with more than 1,000 attempts",
    () => insertInto("login_window", { key: "'k'", hits: "array_fill(now(), ARRAY[1001])" }),
    CHECK
  )
]

const anAccount = (columns: Readonly<Record<string, string>>) =>
  insertInto("account", { id: "gen_random_uuid()", kind: "'reseller_quota'", unit: "'usd_micro'", ...columns })

const quota: ReadonlyArray<WrongState> = [
  wrong(
    "a second quota account of a reseller",
    ({ resellerId }) => anAccount({ reseller_id: `'${resellerId}'` }),
    UNIQUE,
    "account_quota"
  ),
  wrong("a quota account without a reseller", () => anAccount({}), CHECK, "account_shape"),
  wrong(
    "a quota account in another unit",
    ({ resellerId }) => anAccount({ reseller_id: `'${resellerId}'`, unit: "'usd_pico'" }),
    CHECK,
    "account_shape"
  ),
  wrong(
    "a quota account with a pending amount",
    ({ quota }) => updated("account", "debits_pending = 1", quota),
    CHECK,
    "account_shape"
  ),
  wrong(
    "a quota account with more debits than credits",
    ({ quota }) => updated("account", "debits_posted = credits_posted + 1", quota),
    CHECK,
    "account_available"
  ),
  wrong(
    "a change of the reseller of a quota account",
    ({ quota }, other) => updated("account", `reseller_id = '${other.resellerId}'`, quota),
    RESTRICT
  ),
  wrong(
    "a plan account that also belongs to a reseller",
    ({ userId, resellerId, modelId }) =>
      anAccount({
        kind: "'plan'",
        unit: "'token'",
        user_id: `'${userId}'`,
        model_id: `'${modelId}'`,
        reseller_id: `'${resellerId}'`
      }),
    CHECK,
    "account_shape"
  )
]

/** A QRIS order of 10,001 IDR; a fee of 5 % is 500.05 IDR. */
const inRupiah = (ledger: Ledger, otherwise: Readonly<Record<string, string>>) =>
  orderOf(ledger, "rupiah", {
    method: "'qris'",
    token_kind: "NULL",
    deposit_index: "NULL",
    instructions: `'{"_tag": "Qris", "qrContent": "00"}'`,
    amount_idr: "10001",
    fee_idr: "501",
    total_idr: "10502",
    quota_usd_micro: "1000100",
    ...otherwise
  })
const AMOUNTS = "topup_amounts"
const PROVISION = "topup_provision"

const amounts: ReadonlyArray<WrongState> = [
  wrong(
    "an order with a fee that is rounded down",
    (l) => inRupiah(l, { fee_idr: "500", total_idr: "10501" }),
    CHECK,
    AMOUNTS
  ),
  wrong("an order in rupiah without a fee", (l) => inRupiah(l, { fee_idr: "NULL" }), CHECK, AMOUNTS),
  wrong("an order with a wrong total", (l) => inRupiah(l, { total_idr: "10501" }), CHECK, AMOUNTS),
  wrong(
    "an order with a quota that includes the fee",
    (l) => inRupiah(l, { quota_usd_micro: "1050200" }),
    CHECK,
    AMOUNTS
  ),
  wrong(
    "an order with the method hosted_qris and a fee",
    (l) => inRupiah(l, { method: "'hosted_qris'", instructions: `'{"_tag": "HostedQris"}'` }),
    CHECK,
    AMOUNTS
  ),
  wrong("an order in rupiah with a token", (l) => inRupiah(l, { token_kind: "'usdt'" }), CHECK, AMOUNTS),
  wrong("a dollar order with an amount in rupiah", (l) => orderOf(l, "both", { amount_idr: "100000" }), CHECK, AMOUNTS),
  wrong("a dollar order without a token", (l) => orderOf(l, "none", { token_kind: "NULL" }), CHECK),
  wrong("an order of zero quota", (l) => inRupiah(l, { quota_usd_micro: "0" }), CHECK),
  wrong("an order of an unknown reseller", (l) => orderOf(l, "r", { reseller_id: "gen_random_uuid()" }), FOREIGN_KEY),
  wrong("a ready order without instructions", (l) => orderOf(l, "blind", { instructions: "NULL" }), CHECK, PROVISION),
  wrong("a ready order without a status", (l) => orderOf(l, "nowhere", { status: "NULL" }), CHECK, PROVISION),
  wrong("a draft with a status", ({ draft }) => updated("topup_order", "status = 'pending'", draft), CHECK, PROVISION),
  wrong(
    "a draft with a due time",
    ({ draft }) => updated("topup_order", "next_look_at = now()", draft),
    CHECK,
    PROVISION
  ),
  wrong(
    "a draft with a received amount",
    ({ draft }) => updated("topup_order", "received_raw = 1", draft),
    CHECK,
    PROVISION
  ),
  wrong(
    "an abandoned draft without a reason",
    ({ draft }) => updated("topup_order", "provision_state = 'abandoned'", draft),
    CHECK,
    PROVISION
  ),
  wrong(
    "an order with the instructions of another payment method",
    (l) => inRupiah(l, { instructions: `'{"_tag": "HostedQris"}'` }),
    CHECK,
    "topup_instructions"
  ),
  wrong(
    "an order with instructions that name no payment method",
    (l) => inRupiah(l, { instructions: "'{}'" }),
    CHECK,
    "topup_instructions"
  ),
  wrong(
    "an order with a payable amount below the credited amount",
    (l) => orderOf(l, "short").replace('"10000000000000000000"', '"9999999999999999999"'),
    CHECK,
    "topup_bep20"
  ),
  wrong(
    "an order with instructions for another token",
    (l) => orderOf(l, "other").replace('"tokenKind":"usdt"', '"tokenKind":"usdc"'),
    CHECK,
    "topup_bep20"
  ),
  wrong(
    "an order with instructions that contain no deposit address",
    (l) => orderOf(l, "nowhere").replace("depositAddress", "elsewhere"),
    CHECK,
    "topup_bep20"
  ),
  wrong(
    "two orders with the same deposit address",
    (l) => orderOf(l, "PENDING", { provider_payment_id: "'another'" }),
    UNIQUE,
    "topup_order_deposit_address"
  ),
  wrong(
    "two orders with the same deposit index",
    ({ pending, ...l }) =>
      orderOf({ pending, ...l }, "index", {
        deposit_index: `(SELECT deposit_index FROM topup_order WHERE id = '${pending}')`
      }),
    UNIQUE,
    "topup_order_deposit_index_key"
  ),
  wrong(
    "two orders with the same payment id",
    (l) => orderOf(l, "twice", { provider_payment_id: `'pending of ${l.resellerId}'` }),
    UNIQUE,
    "topup_order_provider_provider_payment_id_key"
  )
]

const CREDITED = "status = 'credited', paid_at = now(), credited_at = now(), next_look_at = NULL"
const paidFirst = (id: string) => `${updated("topup_order", "status = 'crediting', paid_at = now()", id)};`

const lifecycles: ReadonlyArray<WrongState> = [
  wrong(
    "an order in the status 'crediting' without a payment time",
    ({ pending }) => updated("topup_order", "status = 'crediting'", pending),
    CHECK,
    "topup_paid"
  ),
  wrong(
    "a pending order with a payment time",
    ({ pending }) => updated("topup_order", "paid_at = now()", pending),
    CHECK,
    "topup_paid"
  ),
  wrong(
    "a credited order without a credit time",
    ({ pending }) =>
      `${paidFirst(pending)} ${updated("topup_order", "status = 'credited', next_look_at = NULL", pending)}`,
    CHECK,
    "topup_credited"
  ),
  wrong(
    "a credited QRIS order that is due again",
    (ledger) =>
      `${orderOf(ledger, "code", {
        method: "'qris'",
        amount_idr: "100000",
        fee_idr: "5000",
        total_idr: "105000",
        token_kind: "NULL",
        instructions: `'{"_tag": "Qris"}'`,
        status: "'credited'",
        paid_at: "now()",
        credited_at: "now()"
      })}`,
    CHECK,
    "topup_done"
  ),
  wrong(
    "the removal of a repeated payment from an order",
    ({ pending }) =>
      `${updated("topup_order", "repeated_payments = '{7}'", pending)};
      ${updated("topup_order", "repeated_payments = '{8}'", pending)}`,
    RESTRICT,
    "an id must not be removed from the repeated payments"
  ),
  wrong(
    "a credited order without a transfer",
    ({ pending }) => `${paidFirst(pending)} ${updated("topup_order", CREDITED, pending)}`,
    FOREIGN_KEY,
    "topup_transferred"
  ),
  wrong(
    "a credited order with a transfer of another amount",
    ({ pending, quota }) => `${paidFirst(pending)}
      ${insertInto("transfer", {
        id: "gen_random_uuid()",
        code: "'topup'",
        ref: `'${pending}'`,
        unit: "'usd_micro'",
        debit_account: `'${EXTERNAL_PAYMENTS}'`,
        credit_account: `'${quota}'`,
        amount: "9999999",
        actor: "'eve'"
      })};
      ${updated("topup_order", CREDITED, pending)}`,
    FOREIGN_KEY,
    "topup_transferred"
  ),
  ...[
    "id = gen_random_uuid()",
    "method = 'crypto'",
    "provider = 'other'",
    "simulated = true",
    "token_kind = 'usdc'",
    "quota_usd_micro = quota_usd_micro + 1",
    "deposit_index = deposit_index + 1000",
    "created_at = created_at + interval '1 day'"
  ].map((change) =>
    wrong(
      `a change to the terms of an order: ${change}`,
      ({ pending }) => updated("topup_order", change, pending),
      RESTRICT,
      "the other terms of the order must not change"
    )
  ),
  ...[
    "provider_payment_id = 'mine'",
    `instructions = instructions || '{"depositAddress": "0xeve"}'`,
    `provider_state = '{"baselineRaw": "1"}'`,
    "expires_at = expires_at + interval '1 day'",
    "provision_state = 'creating'"
  ].map((change) =>
    wrong(
      `a change to the payment of an order: ${change}`,
      ({ pending }) => updated("topup_order", change, pending),
      RESTRICT,
      "the payment and its instructions must not change"
    )
  ),
  wrong(
    "an abandoned draft that becomes a draft again",
    ({ draft }) => `${updated("topup_order", "provision_state = 'abandoned', abandoned_because = 'slow'", draft)};
      ${updated("topup_order", "provision_state = 'creating', abandoned_because = NULL", draft)}`,
    RESTRICT,
    "the payment and its instructions must not change"
  ),
  ...["received_raw = received_raw - 1", "received_raw = NULL", "paid_at = now()", "credited_at = now()"].map(
    (change) =>
      wrong(
        `a change to the receipt of an order: ${change}`,
        ({ credited }) => updated("topup_order", change, credited),
        RESTRICT,
        "the received amounts must not decrease"
      )
  ),
  wrong("the deletion of an order", ({ pending }) => `DELETE FROM topup_order WHERE id = '${pending}'`, RESTRICT),
  wrong("a truncation of the orders", () => "TRUNCATE topup_order", RESTRICT)
]

const allowed = new Set([
  "pending to crediting",
  "pending to expired",
  "pending to failed",
  "expired to crediting",
  "failed to crediting",
  "crediting to credited"
])

/** The statements that change a pending order to a status. The tests do not use the entry of `credited`. */
const statementsTo: Record<TopUpStatus, (id: string) => string> = {
  pending: () => "",
  expired: (id) => `${updated("topup_order", "status = 'expired'", id)};`,
  failed: (id) => `${updated("topup_order", "status = 'failed'", id)};`,
  crediting: paidFirst,
  credited: (id) => paidFirst(id)
}

const transitions = TopUpStatus.literals.flatMap((from) => TopUpStatus.literals.map((to) => ({ from, to })))
const wrongTransitions = transitions
  .filter(({ from, to }) => from !== to && !allowed.has(`${from} to ${to}`))
  .map(({ from, to }) =>
    wrong(
      `an order that changes from ${from} to ${to}`,
      ({ pending, credited }) =>
        from === "credited"
          ? updated("topup_order", `status = '${to}'`, credited)
          : `${statementsTo[from](pending)} ${updated("topup_order", `status = '${to}'`, pending)}`,
      RESTRICT,
      "change of the status is not allowed"
    )
  )

const mints: ReadonlyArray<WrongState> = [
  wrong(
    "a change of a tier's price",
    ({ tier }) => updated("tier", "tier_usd_cents = 501", tier),
    RESTRICT,
    "the id, the model and the price must not change"
  ),
  wrong(
    "a change of a tier's model",
    ({ tier }, other) => updated("tier", `model_id = '${other.modelId}'`, tier),
    RESTRICT,
    "the id, the model and the price must not change"
  ),
  wrong(
    "two mints of a reseller with the same operation id",
    (l) => mintOf(l, { id: "gen_random_uuid()" }),
    UNIQUE,
    "mint_reseller_id_operation_id_key"
  ),
  wrong(
    "a mint without a transfer of its price",
    (l) => mintOf(l, { id: "gen_random_uuid()", operation_id: "'unpaid'" }),
    FOREIGN_KEY,
    "mint_paid"
  ),
  wrong(
    "a mint without a transfer of its tokens",
    (l) => `
      INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor)
        SELECT gen_random_uuid(), code, '${l.draft}', unit, debit_account, credit_account, amount, actor
        FROM transfer WHERE code = 'mint_pay' AND ref = '${l.mint}';
      ${mintOf(l, { id: `'${l.draft}'`, operation_id: "'ungranted'" })}`,
    FOREIGN_KEY,
    "mint_granted"
  ),
  wrong(
    "a mint of one model with a tier of another model",
    (l, other) => mintOf(l, { id: "gen_random_uuid()", operation_id: "'mixed'", model_id: `'${other.modelId}'` }),
    FOREIGN_KEY
  ),
  wrong("a mint with an empty operation id", (l) => mintOf(l, { id: "gen_random_uuid()", operation_id: "''" }), CHECK),
  wrong("a change to a mint", () => "UPDATE mint SET fingerprint = 'other'", RESTRICT),
  wrong("a deletion from the mints", () => "DELETE FROM mint", RESTRICT),
  wrong("a truncation of the mints", () => "TRUNCATE mint", RESTRICT)
]

/** Two ledgers in one database. The tests share their rows, because each statement is rolled back. */
class Ledgers extends Context.Tag("test/Ledgers")<Ledgers, readonly [Ledger, Ledger]>() {}
const ledgers = Layer.effect(Ledgers, Effect.all([aLedger, aLedger])).pipe(
  Layer.provideMerge(Stores.layer),
  Layer.orDie
)

describe("the schema of the reseller programme", () => {
  layer(ledgers, { excludeTestServices: true })((it) => {
    for (const state of [...resellers, ...quota, ...amounts, ...lifecycles, ...wrongTransitions, ...mints]) {
      it.effect(`refuses ${state.what}`, () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const [ledger, other] = yield* Ledgers
          const error = yield* sql.withTransaction(sql.unsafe(state.statement(ledger, other))).pipe(Effect.flip)
          expect({ state: sqlState(error), cause: String(error.cause) }).toMatchObject({ state: state.refusedWith })
          if (state.by !== undefined) expect(String(error.cause)).toContain(state.by)
        })
      )
    }
  })
})

describe("the schema of resellers and orders", () => {
  layer(ledgers, { excludeTestServices: true })((it) => {
    const accepts = (what: string, statement: WrongState["statement"]) =>
      it.effect(`accepts ${what}`, () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const [ledger, other] = yield* Ledgers
          const undone = sql.withTransaction(
            Effect.zipRight(sql.unsafe(statement(ledger, other)), Effect.fail("undone"))
          )
          expect(yield* Effect.flip(undone)).toBe("undone")
        })
      )

    for (const transition of allowed) {
      const [from, to] = transition.split(" to ") as [TopUpStatus, TopUpStatus]
      accepts(`an order that changes from ${transition}`, ({ pending, quota }) => {
        const change = to === "crediting" ? "status = 'crediting', paid_at = now()" : `status = '${to}'`
        if (to !== "credited") return `${statementsTo[from](pending)} ${updated("topup_order", change, pending)}`
        return `${statementsTo[from](pending)}
          INSERT INTO transfer (id, code, ref, unit, debit_account, credit_account, amount, actor) VALUES
            (gen_random_uuid(), 'topup', '${pending}', 'usd_micro', '${EXTERNAL_PAYMENTS}', '${quota}', 10000000, 'ada');
          UPDATE topup_order SET status = 'credited', credited_at = now(), next_look_at = NULL WHERE id = '${pending}'`
      })
    }
    accepts("an order in rupiah with its fee rounded up", (ledger) => inRupiah(ledger, {}))
    accepts("an order with the method hosted_qris and no fee", (ledger) =>
      inRupiah(ledger, {
        method: "'hosted_qris'",
        instructions: `'{"_tag": "HostedQris"}'`,
        fee_idr: "0",
        total_idr: "10001"
      })
    )
    accepts("the largest amount that a chain can report", ({ pending }) =>
      updated("topup_order", `received_raw = ${2n ** 256n - 1n}`, pending)
    )
    accepts("the status changes of a reseller", ({ resellerId }) =>
      ["status = 'suspended', token_version = 1", "status = 'active'", "status = 'suspended', token_version = 2"]
        .map((change) => updated("reseller", change, resellerId))
        .join(";")
    )
  })
})
