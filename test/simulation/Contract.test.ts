/**
 * Runs the same random histories of ledger transactions on real Postgres and on the model of the database.
 */

import { SqlClient } from "@effect/sql"
import { describe, expect, it, layer } from "@effect/vitest"
import type { LedgerSettlement, LedgerWork } from "@tollgate/adapters-postgres/ledger/LedgerWork"
import { KeyLimitStore } from "@tollgate/application/customer/KeyLimits"
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { Effect } from "effect"
import {
  aCustomer,
  aRequest,
  aRequestId,
  type Customer,
  extension,
  measured
} from "../adapters-postgres/ledger/Customers.ts"
import { asLimited } from "../adapters-postgres/ledger/LimitedCustomers.ts"
import * as Stores from "../support/Stores.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { ledgerOf, type ModelWorld, modelWorld, postgresWorld, shown, sweepOf } from "./ContractWorlds.ts"
import type { LimitColumns } from "./database/CountedKeys.ts"
import { PARTS } from "./database/Writes.ts"
import { limitsOf } from "./LimitedKeys.ts"
import { Random } from "./Random.ts"

const STEPS = 80
/**
 * No sum of these changes of the clock is close to 60 seconds, so the real duration of a history does not decide when a
 * rate window ends.
 */
const CLOCK_STEPS = [0, 23_000, 23_000, -69_000]

const changeOf = ({ concurrent, perDay, perMonth, requests, tokens, total }: LimitColumns) => {
  const number = (amount: bigint | null) => (amount === null ? null : Number(amount))
  return {
    spend_usd_micro_per_day: number(perDay),
    spend_usd_micro_per_month: number(perMonth),
    spend_usd_micro_total: number(total),
    requests_per_minute: requests,
    tokens_per_minute: number(tokens),
    concurrent_requests: concurrent
  }
}

/** Returns a result without durations, which depend on the time that the steps take. */
const withoutDurations = (text: string): string => text.replaceAll(/"(resetSeconds|retryAfterSeconds)":\d+/g, "")
const TIMEOUT = 120_000

const copyTo = ({ database }: ModelWorld, customers: ReadonlyArray<Customer>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{
      id: string
      user_id: string
      model_id: string | null
      credits_posted: bigint
      debits_posted: bigint
      debits_pending: bigint
    }>`
      SELECT id, user_id, model_id, credits_posted, debits_posted, debits_pending FROM account WHERE kind IN ('payg', 'plan')`
    for (const row of rows) {
      database.accounts.insertCommitted(row.id, {
        id: row.id,
        userId: row.user_id,
        modelId: row.model_id,
        credits: row.credits_posted,
        debits: row.debits_posted,
        pending: row.debits_pending
      })
    }
    for (const { model, principal, user } of customers) {
      const { cacheRead, cacheWrite, input, output } = model.price
      database.keys.set(principal.keyId, { userId: user.id, valid: true })
      database.prices.set(model.priceId, { rates: [input, cacheWrite, cacheRead, output] })
    }
    return rows.map(({ id }) => id)
  })

const aSettlement = (random: Random, admission: Admission): LedgerSettlement => {
  const outcome = random.pick([
    measured("complete", 96n, BigInt(random.integer(0, 60))),
    measured("failed"),
    measured("client_gone", 40n, 3n)
  ])
  const settlement = { costPico: 0n, planTokens: 0n, planValuePico: 0n, paygPico: 0n, writeoffPico: 0n } as never
  const maybeCommitted = random.chance(0.2) ? { measured: outcome, settlement } : undefined
  return { request: { admission, measure: () => outcome }, maybeCommitted }
}

/** Draws the work of one transaction. The requests come from `known`, and new requests are added to it. */
const workOf = (random: Random, customers: ReadonlyArray<Customer>, known: Array<Admission>): LedgerWork => {
  const some = <A>(most: number, make: () => A): Array<A> => Array.from({ length: random.integer(0, most) }, make)
  const settlements = known.length === 0 ? [] : some(2, () => aSettlement(random, random.pick(known)))
  const extensions =
    known.length === 0 ? [] : some(2, () => ({ request: extension(random.pick(known), BigInt(random.integer(1, 90))) }))
  const admissions = some(2, () => {
    const isKnown = known.length > 0 && random.chance(0.15)
    const admission = isKnown
      ? random.pick(known)
      : aRequest(random.pick(customers), BigInt(random.integer(1, 120)), BigInt(random.integer(0, 20)))
    if (!isKnown) known.push(admission)
    const settlement = random.chance(0.3) ? aSettlement(random, admission) : undefined
    return { admission, maybeCommitted: random.chance(isKnown ? 0.7 : 0.1), settlement }
  })
  return { settlements, extensions, admissions }
}

const history = (seed: number, lockMillis: number) =>
  Effect.gen(function* () {
    const { settings } = yield* TestDatabase
    const random = new Random(seed)
    const customers = yield* Effect.all([
      aCustomer({ usdMicro: 2n }),
      aCustomer({ usdMicro: 1n, planTokens: 300n }),
      aCustomer({ planTokens: 500n }),
      aCustomer({}),
      aCustomer({ usdMicro: 40n }),
      aCustomer({ usdMicro: 40n, planTokens: 500n })
    ])
    // A node may not know yet that a key is limited, or that it no longer is.
    const limitedKeys = customers.slice(4).map(({ principal }) => principal.keyId)
    const principals = [...customers, ...customers.slice(4).map(asLimited)]
    const clock = { nowMillis: Date.now() }
    const model = modelWorld(seed, clock)
    const keyLimits = yield* KeyLimitStore
    const limit = async (keyId: string, limits: LimitColumns) => {
      const change = keyLimits.change(keyId as (typeof limitedKeys)[number], changeOf(limits), Stores.operator)
      await Effect.runPromise(change)
    }
    const accountIds = yield* copyTo(model, customers)
    const ends: Array<() => Promise<void>> = []
    yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all(ends.map((end) => end()))))
    const postgres = yield* Effect.promise(() => postgresWorld(settings, clock, limit, (end) => ends.push(end)))
    const worlds = [postgres, model]
    const nodeIds = [aRequestId(), aRequestId()] as ReadonlyArray<unknown> as ReadonlyArray<NodeId>
    const ledgers = worlds.map((world) => nodeIds.map((id) => ledgerOf(world, id, settings, lockMillis)))
    const sweeps = worlds.map((world) => sweepOf(world, settings))
    const [dead = "", live = ""] = nodeIds
    const sql = yield* SqlClient.SqlClient
    yield* sql`INSERT INTO gateway_node (id, left_at) VALUES (${dead}, clock_timestamp()), (${live}, NULL)`
    model.database.nodes.set(dead, { beatAt: 0, storedAtMillis: 0, left: true })
    model.database.nodes.set(live, { beatAt: Number.POSITIVE_INFINITY, storedAtMillis: 0, left: false })
    const known: Array<Admission> = []

    const inBoth = async (act: (world: number) => Promise<unknown>): Promise<ReadonlyArray<string>> => {
      const results: Array<string> = []
      for (const [i] of worlds.entries()) {
        const result = act(i).then(shown, (error: { code?: string }) => `failed ${error.code ?? error}`)
        results.push(withoutDurations(await result))
      }
      return results
    }

    for (let step = 0; step < STEPS; step++) {
      const node = random.integer(0, 1)
      clock.nowMillis += random.pick(CLOCK_STEPS)
      const limitedKey = random.pick(limitedKeys)
      const limits = limitsOf(random)
      const kind =
        step === 50
          ? "revoke"
          : step % 10 === 3
            ? "limit"
            : step % 20 === 19
              ? "sweep"
              : random.pick(["run", "run", "run", "none", "checkpoint", "locked", "locked"])
      const work = workOf(random, principals, known)
      const isAccount = random.chance(0.7) || known.length === 0
      const isKey = random.chance(0.2)
      const table = isKey ? "counted_key" : isAccount ? "account" : "open_request"
      const id = isKey ? limitedKey : isAccount ? random.pick(accountIds) : random.pick(known).requestId
      const credits = BigInt(random.integer(0, 30))
      const { keyId } = random.pick(customers).principal
      const run = (world: number, lockWait: "bounded" | "none") => {
        const ledger = ledgers[world]?.[node]
        if (ledger === undefined) throw new Error("there is no such ledger")
        return () => ledger.transactions.run(work, () => {}, lockWait)
      }
      const checkpoints = known.slice(-4).map(({ requestId }) => ({
        requestId,
        checkpoint: { input: Tokens.Tokens(9n), output: Tokens.Tokens(credits) }
      }))
      const results = yield* Effect.promise(() =>
        inBoth(async (i) => {
          const world = worlds[i]
          if (world === undefined) throw new Error("there is no such world")
          if (kind === "checkpoint") return world.step(async () => ledgers[i]?.[node]?.checkpoint(checkpoints))
          if (kind === "revoke") return world.revoke(keyId)
          if (kind === "limit") return world.limit(limitedKey, limits)
          if (kind === "sweep")
            return world.step(async () =>
              sweeps[i]?.(step < 60 ? undefined : [{ node: live as NodeId, beatAt: "2000-01-01" }])
            )
          if (kind !== "locked") return world.step(run(i, kind === "none" ? "none" : "bounded"))
          const held = await world.lock(table, id)
          if (lockMillis > 1_000) return world.stepThatWaits(run(i, "bounded"), held, credits)
          const result = await world.step(run(i, "bounded")).then(shown, (error: { code?: string }) => `${error.code}`)
          await held.release(credits)
          return result
        })
      )
      const about = `seed ${seed}, step ${step}: ${kind} ${table} ${id}`
      expect({ about, log: model.log.splice(0) }).toEqual({ about, log: postgres.log.splice(0) })
      expect({ about, result: results[1] }).toEqual({ about, result: results[0] })
      const [real, modelled] = [yield* Effect.promise(postgres.rows), yield* Effect.promise(model.rows)]
      expect({ about, rows: modelled.split("\n") }).toEqual({ about, rows: real.split("\n") })
    }
  })

describe("the statements of the ledger", () => {
  it("have names that Postgres does not shorten", () => {
    const longest = Object.keys(PARTS).filter((part) => part !== "grow" && part !== "hold")
    expect(["write", ...longest].join("_").length).toBeLessThanOrEqual(63)
  })
})

describe("the model of the database", () => {
  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped("returns and writes the same rows as Postgres", () => history(1, 20), TIMEOUT)
  })

  layer(Stores.layer, { excludeTestServices: true })((it) => {
    it.scoped("waits for locks like Postgres", () => history(2, 10_000), TIMEOUT)
  })
})
