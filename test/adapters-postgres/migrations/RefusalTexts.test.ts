import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { type Migration, migrate, migrations } from "@tollgate/adapters-postgres/migrations/Migrations"
import { Effect } from "effect"
import * as TestDatabase from "../../support/TestDatabase.ts"

const earlier = migrations.slice(
  0,
  migrations.findIndex(({ name }) => name === "0020_refusal_texts")
)

/** The texts that 0020 replaces, each with its new text. */
const REPLACED: ReadonlyArray<readonly [before: string, after: string]> = [
  ["'% is append-only', TG_TABLE_NAME", "'% is not allowed on the table %', TG_OP, TG_TABLE_NAME"],
  [
    "the posted amounts of account % only grow",
    "account %: the credits and the debits must not decrease, and the id, the kind, the unit, the owner and the model must not change"
  ],
  ["the rows are not what was decided over", "a row that the decision is based on has changed"],
  ["a reseller stays who it is", "the id, the email address and the creation time must not change"],
  ["its status does not move this way", "this change of the status is not allowed"],
  [
    "its token version grows, with every suspension at least",
    "the token version must not decrease, and a suspension must increase it"
  ],
  [
    "what was ordered never changes",
    "the reseller, the payment method, the amounts and the other terms of the order must not change"
  ],
  [
    "what is to be paid, and where, never changes",
    "the payment and its instructions must not change after the order is ready or abandoned"
  ],
  [
    "what has arrived only grows, and when it did stays",
    "the received amounts must not decrease, and the times of payment and credit must not change"
  ],
  ["a tier stands for one model at one price", "the id, the model and the price must not change"],
  ["key % stays what and whose it is", "API key %: the id and the owner must not change"],
  [
    "a settlement refers to a key, a price or an account that does not exist or is another''s",
    "the API key, the price or an account of a settlement does not exist, or belongs to another user or model"
  ],
  [
    "the image request % has ended",
    "image request %: the state must not change after the end of the request, and the id, the user, the start time and the idempotency key must not change"
  ],
  [
    "the review of % is resolved",
    "review of the image request %: a resolved review must not change, and the request, the reason and the creation time must not change"
  ],
  ["what repeated a payment is not forgotten", "an id must not be removed from the repeated payments"],
  [
    "the operator session % is opened and ended once",
    "operator session %: the session can be opened only once, it must not change after its end, and the id, the operator, the code and the creation time must not change"
  ],
  ["the operation id of an order never changes", "the operation id must not change"]
]

/** The earlier migrations with the old texts, as an earlier release has applied them. */
const withOldTexts = earlier.map(
  ({ statements, ...migration }): Migration => ({
    ...migration,
    statements: REPLACED.reduce((text, [before, after]) => text.replaceAll(after, before), statements)
  })
)

const definitions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ definition: string }>`
    SELECT pg_get_triggerdef(oid) AS definition FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    ORDER BY definition`
  return rows.map(({ definition }) => definition)
})

/** Returns the definitions after the given migrations, and then after all migrations. */
const definitionsAfter = (first: ReadonlyArray<Migration>) =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.make("empty")
    return yield* Effect.gen(function* () {
      yield* migrate(first)
      const before = yield* definitions
      yield* migrate()
      return { before, after: yield* definitions }
    }).pipe(Effect.provide(TestDatabase.clientLayer(database)))
  })

describe("the migration 0020_refusal_texts", () => {
  it.scopedLive("gives an old database the triggers and functions of a new one", () =>
    Effect.gen(function* () {
      const old = yield* definitionsAfter(withOldTexts)
      const oldTexts = REPLACED.map(([before]) => before)
      expect(oldTexts.filter((text) => !old.before.some((definition) => definition.includes(text)))).toEqual([])
      const fresh = yield* definitionsAfter(migrations)
      expect(old.after).toEqual(fresh.after)
    })
  )

  it.scopedLive("changes nothing in a database with the new texts", () =>
    Effect.gen(function* () {
      const { after, before } = yield* definitionsAfter(earlier)
      expect(before.length).toBeGreaterThan(0)
      expect(after).toEqual(before)
    })
  )
})
