import { randomBytes, randomUUID } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import * as PgSettledUsage from "@tollgate/adapters-postgres/customer/PgSettledUsage"
import { Customers } from "@tollgate/application/customer/Customers"
import { customerReader, resellerReader, SettledUsage } from "@tollgate/application/customer/SettledUsage"
import type { UsageFilter, UsageItem } from "@tollgate/domain/customer/Usage"
import type { UserId } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { positionFromText, positionToText } from "@tollgate/domain/validation/Cursor"
import { Context, Effect, FastCheck, Layer, Option } from "effect"
import * as Pg from "pg"
import { aLedger, type Ledger, settlementOf } from "../../support/LedgerRows.ts"
import * as Programme from "../../support/Programme.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

/**
 * Creates a customer of a reseller with one settled request. `settlement` returns the statement for another settlement,
 * which debits no account.
 */
const aUsage = Effect.map(aLedger, (ledger) => ({
  ledger,
  resellerId: ledger.resellerId as ResellerId,
  settlement: (otherwise: Readonly<Record<string, string>> = {}) =>
    settlementOf(ledger, {
      request_id: `'${randomUUID()}'`,
      plan_account: "NULL",
      plan_tokens: "0",
      plan_value_pico: "0",
      payg_account: "NULL",
      payg_pico: "0",
      writeoff_pico: "30000",
      ...otherwise
    })
}))

const all: UsageFilter = { from: undefined, before: undefined, model: undefined, userId: undefined }

const aSession = Effect.gen(function* () {
  const { settings } = yield* TestDatabase
  const client = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const opened = new Pg.Client(settings)
      await opened.connect()
      return opened
    }),
    (opened) => Effect.promise(() => opened.end())
  )
  return (statement: string) => Effect.promise(() => client.query(statement))
})

const run = (statement: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.orDie(sql.unsafe(statement)))

const idsOf = (items: ReadonlyArray<UsageItem>) => items.map(({ position }) => position.id)

const readAllPages = (resellerId: ResellerId, limit: number, usage?: SettledUsage["Type"]) =>
  Effect.gen(function* () {
    const { read } = usage ?? (yield* SettledUsage)
    const items: Array<UsageItem> = []
    for (;;) {
      // The conversion to text and back tests the form that a cursor contains.
      const after =
        items.at(-1) &&
        Option.getOrThrow(positionFromText("u1", positionToText("u1", items.at(-1)?.position as UsageItem["position"])))
      const page = yield* read(resellerReader(resellerId), { limit, after, filter: all })
      expect(page.length).toBeLessThanOrEqual(limit)
      items.push(...page)
      if (page.length < limit) return items
    }
  })

const newest = (resellerId: ResellerId) =>
  Effect.flatMap(SettledUsage, (usage) =>
    usage.read(resellerReader(resellerId), { limit: 100, after: undefined, filter: all })
  )

describe("settled usage", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("contains the full cost of a request that two balances paid", () =>
      Effect.gen(function* () {
        const { ledger, resellerId } = yield* aUsage
        const [item, ...more] = yield* newest(resellerId)
        expect(more).toEqual([])
        expect(item).toMatchObject({ userId: ledger.userId, totalTokens: 15n, costPico: 30_000n })
        expect(item?.model).toMatch(/^ledger-/)
        expect(item?.position.id).toBe(ledger.settled)
        expect(item && item.position.atMicros / 1_000n).toBe(BigInt(item?.settledAt.getTime() ?? 0))
      })
    )

    it.effect("contains only the requests of the reseller's own customers", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* aUsage, yield* aUsage]
        expect(idsOf(yield* newest(one.resellerId))).toEqual([one.ledger.settled])
        yield* (yield* Customers).link(one.resellerId, yield* emailOf(other.ledger), { actor: "ada", reason: "test" })
        expect(idsOf(yield* newest(one.resellerId))).toEqual([other.ledger.settled, one.ledger.settled])
        expect(idsOf(yield* newest(other.resellerId))).toEqual([other.ledger.settled])
      })
    )

    it.effect("omits requests without charged tokens", () =>
      Effect.gen(function* () {
        const { resellerId, ledger, settlement } = yield* aUsage
        const nothing = { charged_input: "0", charged_output: "0", cost_pico: "0", writeoff_pico: "0" }
        for (let i = 0; i < 5; i++) yield* run(settlement({ ...nothing, ending: "'failed'", usage_source: "'none'" }))
        expect(idsOf(yield* newest(resellerId))).toEqual([ledger.settled])
        yield* run(settlement({ cost_pico: "0", writeoff_pico: "0" }))
        expect(yield* newest(resellerId)).toMatchObject([{ costPico: 0n, totalTokens: 15n }, { costPico: 30_000n }])
      })
    )

    it.effect("is read in pages in descending order of time and id", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* aUsage, yield* aUsage]
        yield* (yield* Customers).link(one.resellerId, yield* emailOf(other.ledger), { actor: "ada", reason: "test" })
        const at = (micros: number) => ({ settled_at: `'2026-01-02 03:04:05.${123_000 + micros}Z'` })
        for (const micros of [0, 1, 1, 1, 2, 2, 499, 500, 501, 999, 1_000]) {
          yield* run(one.settlement(at(micros)))
          yield* run(other.settlement(at(micros)))
        }
        const all = yield* newest(one.resellerId)
        expect(all).toHaveLength(24)
        const keys = all.map(({ position }) => `${position.atMicros} ${position.id}`)
        expect(keys).toEqual([...new Set(keys)].sort().reverse())
        for (const limit of [1, 2, 3, 5, 24]) expect(yield* readAllPages(one.resellerId, limit)).toEqual(all)
      })
    )

    it.effect("contains only the requests that the filter selects", () =>
      Effect.gen(function* () {
        const { read } = yield* SettledUsage
        const [one, other] = [yield* aUsage, yield* aUsage]
        yield* (yield* Customers).link(one.resellerId, yield* emailOf(other.ledger), { actor: "ada", reason: "test" })
        const reader = resellerReader(one.resellerId)
        const found = (filter: Partial<UsageFilter>, from = reader) =>
          Effect.map(read(from, { limit: 9, after: undefined, filter: { ...all, ...filter } }), idsOf)
        const model = (yield* newest(one.resellerId)).find(({ userId }) => userId === one.ledger.userId)?.model
        const both = [other.ledger.settled, one.ledger.settled]
        expect(yield* found({ from: new Date(Date.now() - 60_000), before: new Date(Date.now() + 60_000) })).toEqual(
          both
        )
        expect(yield* found({ before: new Date(Date.now() - 60_000) })).toEqual([])
        expect(yield* found({ from: new Date(Date.now() + 60_000) })).toEqual([])
        expect(yield* found({ model })).toEqual([one.ledger.settled])
        expect(yield* found({ model: "unknown" })).toEqual([])
        expect(yield* found({ userId: other.ledger.userId as UserId })).toEqual([other.ledger.settled])
        const customer = customerReader(other.ledger.userId as UserId)
        expect(yield* found({}, customer)).toEqual([other.ledger.settled])
        expect(yield* found({ model }, customer)).toEqual([])
      })
    )

    it.effect("is summed by days that begin at midnight in Jakarta", () =>
      Effect.gen(function* () {
        const { days } = yield* SettledUsage
        const { resellerId, ledger, settlement } = yield* aUsage
        const nothing = { charged_input: "0", charged_output: "0", cost_pico: "0", writeoff_pico: "0" }
        for (const time of ["2026-01-01 16:59:59.999999Z", "2026-01-01 17:00:00Z", "2026-01-02 16:59:59.999999Z"]) {
          yield* run(settlement({ settled_at: `'${time}'` }))
          yield* run(settlement({ ...nothing, settled_at: `'${time}'`, ending: "'failed'", usage_source: "'none'" }))
        }
        const filter = { ...all, before: new Date("2026-02-01T00:00:00Z") }
        const expected = [
          { day: "2026-01-01", requests: 1n, totalTokens: 15n, costPico: 30_000n },
          { day: "2026-01-02", requests: 2n, totalTokens: 30n, costPico: 60_000n }
        ]
        expect(yield* days(resellerReader(resellerId), filter)).toEqual(expected)
        expect(yield* days(customerReader(ledger.userId as UserId), filter)).toEqual(expected)
        const first = { ...filter, before: new Date("2026-01-01T17:00:00Z") }
        expect(yield* days(resellerReader(resellerId), first)).toEqual(expected.slice(0, 1))
      })
    )

    it.scoped("omits requests newer than an open transaction with a settlement", () =>
      Effect.gen(function* () {
        const { resellerId, ledger, settlement } = yield* aUsage
        const slow = yield* aSession
        const [late, early] = [randomUUID(), randomUUID()]
        yield* slow("BEGIN")
        yield* slow(settlement({ request_id: `'${early}'` }))
        yield* run(settlement({ request_id: `'${late}'` }))
        expect(idsOf(yield* newest(resellerId))).toEqual([ledger.settled])
        yield* slow("COMMIT")
        expect(idsOf(yield* newest(resellerId))).toEqual([late, early, ledger.settled])
      })
    )

    it.scoped("is not delayed by transactions that settle no request", () =>
      Effect.gen(function* () {
        const { resellerId, ledger, settlement } = yield* aUsage
        const [backup, minter] = [yield* aSession, yield* aSession]
        yield* backup("BEGIN ISOLATION LEVEL REPEATABLE READ")
        yield* backup("SELECT count(*) FROM settlement")
        yield* minter("BEGIN")
        yield* minter(`UPDATE account SET credits_posted = credits_posted WHERE id = '${ledger.plan}'`)
        const id = randomUUID()
        yield* run(settlement({ request_id: `'${id}'` }))
        expect(idsOf(yield* newest(resellerId))).toEqual([id, ledger.settled])
      })
    )

    it.scoped("gains only newer requests while other sessions write", () =>
      Effect.gen(function* () {
        const { resellerId, settlement } = yield* aUsage
        const sessions = yield* Effect.all(Array.from({ length: 4 }, () => aSession))
        let writing = true
        const write = (session: (typeof sessions)[number]) =>
          Effect.gen(function* () {
            for (const pause of FastCheck.sample(FastCheck.integer({ min: 0, max: 6 }), 25)) {
              yield* session("BEGIN")
              for (let i = 0; i <= pause % 3; i++) yield* session(settlement())
              yield* session(`SELECT pg_sleep(${pause / 1_000})`)
              yield* session(settlement())
              yield* session(pause === 6 ? "ROLLBACK" : "COMMIT")
            }
          })
        const lists: Array<ReadonlyArray<UsageItem>> = []
        const reading = Effect.gen(function* () {
          while (writing) lists.push(yield* readAllPages(resellerId, 7))
        })
        const written = Effect.ensuring(
          Effect.forEach(sessions, write, { concurrency: "unbounded" }),
          Effect.sync(() => {
            writing = false
          })
        )
        yield* Effect.all([written, reading, reading], { concurrency: "unbounded" })

        const all = idsOf(yield* readAllPages(resellerId, 100))
        expect(all.length).toBeGreaterThan(100)
        expect(new Set(all).size).toBe(all.length)
        expect(lists.length).toBeGreaterThan(3)
        // Each list consists of the oldest items of the final list, without a gap.
        for (const list of lists) expect(idsOf(list)).toEqual(all.slice(all.length - list.length))
      })
    )

    it.scoped("omits the last minute during a transaction of another role", () =>
      Effect.gen(function* () {
        const { resellerId, ledger, settlement } = yield* aUsage
        const { settings } = yield* TestDatabase
        const role = `reader_${randomBytes(6).toString("hex")}`
        yield* Effect.acquireRelease(
          run(`CREATE ROLE ${role} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`),
          () => run(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
        )
        const pool = PgPool.layer({ maxConnections: 2 }).pipe(
          Layer.provide(PgSettings.layer({ ...settings, user: role }))
        )
        const built = yield* Layer.build(Layer.provide(PgSettledUsage.layer, pool))
        const usage = Context.get(built, SettledUsage)
        const old = randomUUID()
        yield* run(settlement({ request_id: `'${old}'`, settled_at: "clock_timestamp() - interval '2 minutes'" }))
        const read = Effect.map(
          usage.read(resellerReader(resellerId), { limit: 9, after: undefined, filter: all }),
          idsOf
        )
        expect(yield* read).toEqual([ledger.settled, old])
        const writer = yield* aSession
        yield* writer("BEGIN")
        yield* writer(settlement())
        expect(yield* read).toEqual([old])
        yield* writer("COMMIT")
        expect(yield* read).toHaveLength(3)
      })
    )
  })
})

const emailOf = ({ userId }: Ledger) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ email: never }>`SELECT email FROM app_user WHERE id = ${userId as UserId}`
    return row?.email ?? (yield* Effect.dieMessage("there is no such user"))
  })
