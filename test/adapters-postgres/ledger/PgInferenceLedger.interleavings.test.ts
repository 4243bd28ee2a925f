import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { coveredOutput, type Hold } from "@tollgate/domain/ledger/Hold"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { Effect, Either, FastCheck, Layer } from "effect"
import * as Stores from "../../support/Stores.ts"
import {
  aCustomer,
  aNode,
  aRequest,
  balancesOf,
  type Customer,
  complete,
  extension,
  failed,
  journal,
  mint,
  openHolds
} from "./Customers.ts"

type Ledger = Effect.Effect.Success<ReturnType<typeof aNode>>["ledger"]

/**
 * The events of one request. Node 2 has deregistered, so it is dead for sweeps. Nodes 0 and 1 deregister at the end of
 * their run.
 */
interface Story {
  readonly customer: 0 | 1 | 2
  readonly node: 0 | 1 | 2
  readonly input: bigint
  readonly output: bigint
  /** Outputs of the extensions, one after the other. */
  readonly extensions: ReadonlyArray<bigint>
  readonly end: "complete" | "failed" | "twice" | "checkpoint" | "unsettled"
  readonly also: "nothing" | "sweep" | "credit" | "mint"
}

const story: FastCheck.Arbitrary<Story> = FastCheck.record({
  customer: FastCheck.constantFrom(0, 1, 2),
  node: FastCheck.constantFrom(0, 1, 2),
  input: FastCheck.bigInt(1n, 300n),
  output: FastCheck.bigInt(1n, 60n),
  extensions: FastCheck.array(FastCheck.bigInt(1n, 400n), { maxLength: 3 }),
  end: FastCheck.constantFrom("complete", "failed", "twice", "checkpoint", "unsettled"),
  also: FastCheck.oneof(
    { weight: 4, arbitrary: FastCheck.constant("nothing" as const) },
    { weight: 1, arbitrary: FastCheck.constantFrom("sweep" as const, "credit" as const, "mint" as const) }
  )
})

/** One step of a run. `at` selects one of the open requests. */
type Step =
  | { readonly kind: "admit"; readonly customer: number; readonly node: number; readonly input: bigint }
  | { readonly kind: "extend"; readonly at: number; readonly output: bigint }
  | { readonly kind: "settle"; readonly at: number; readonly deliveredPercent: bigint }
  | { readonly kind: "sweep" }
  | { readonly kind: "mint"; readonly customer: number }

const step: FastCheck.Arbitrary<Step> = FastCheck.oneof(
  {
    weight: 4,
    arbitrary: FastCheck.record({
      kind: FastCheck.constant("admit" as const),
      customer: FastCheck.nat(2),
      node: FastCheck.nat(2),
      input: FastCheck.bigInt(1n, 120n)
    })
  },
  {
    weight: 8,
    arbitrary: FastCheck.record({
      kind: FastCheck.constant("extend" as const),
      at: FastCheck.nat(99),
      output: FastCheck.bigInt(1n, 300n)
    })
  },
  {
    weight: 4,
    arbitrary: FastCheck.record({
      kind: FastCheck.constant("settle" as const),
      at: FastCheck.nat(99),
      deliveredPercent: FastCheck.bigInt(0n, 100n)
    })
  },
  { weight: 1, arbitrary: FastCheck.record({ kind: FastCheck.constant("sweep" as const) }) },
  {
    weight: 1,
    arbitrary: FastCheck.record({ kind: FastCheck.constant("mint" as const), customer: FastCheck.nat(2) })
  }
)

/** A request that the test has not settled, with the hold that the ledger has returned last. */
interface Open {
  readonly admission: Admission
  readonly node: number
  hold: Hold
}

/** Returns the output that this hold covers; undefined when it does not cover the prompt. */
const coveredBy = ({ admission: { estimate, price }, hold }: Open) =>
  coveredOutput(hold, TokenUsage.plain(estimate.inputCeiling, Tokens.zero), price)

/** Reads the accounts whose pending amount differs from the sum of the holds, or exceeds the balance. */
const wrongAccounts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`
    SELECT account.kind, credits_posted - debits_posted AS remaining, debits_pending AS pending, held.amount AS held
    FROM account CROSS JOIN LATERAL (
      SELECT coalesce(sum(CASE WHEN plan_account = account.id THEN plan_tokens ELSE 0 END), 0)
        + coalesce(sum(CASE WHEN payg_account = account.id THEN payg_pico ELSE 0 END), 0) AS amount
      FROM open_request) AS held
    WHERE account.kind <> 'system' AND (debits_pending <> held.amount
      OR debits_pending > credits_posted - debits_posted)`
}).pipe(Effect.orDie)

const GROUPS = 30
const STEPS_PER_GROUP = 8

const RUNS = 4
const PER_RUN = 150

describe("three nodes with concurrent requests and sweeps", () => {
  layer(Layer.provideMerge(PgOpenHolds.layer(), Stores.layer), { excludeTestServices: true })((it) => {
    it.scoped("settle each request once", () =>
      Effect.gen(function* () {
        const { credit } = yield* PaygAccounts
        const holds = yield* OpenHolds
        let operations = 0

        const play = ({ input, output, extensions, end, also }: Story, ledger: Ledger, customer: Customer) =>
          Effect.gen(function* () {
            const request = aRequest(customer, input, output)
            const { requestId } = request
            const admitted = yield* Effect.either(ledger.admit(request))
            if (also === "sweep") yield* holds.sweep
            if (also === "mint") yield* mint(customer, output)
            if (also === "credit") {
              const operationId = OperationId.make(`interleaved ${++operations}`)
              yield* credit({
                email: customer.user.email,
                amount: UsdMicro(1n),
                operationId,
                operator: Stores.operator
              })
            }
            if (Either.isLeft(admitted)) return undefined
            for (const more of extensions) yield* ledger.extend(extension(request, more, input))
            if (end === "checkpoint") {
              const { charged } = complete(request, input, 1n).measure().charge
              yield* ledger.checkpoint([{ requestId, checkpoint: charged }])
            }
            if (end === "failed") yield* ledger.settleLater(failed(request))
            if (end === "complete" || end === "checkpoint") yield* ledger.settle(complete(request, input, output + 20n))
            if (end === "twice") {
              const both = yield* Effect.all([ledger.settle(complete(request)), ledger.settle(complete(request))], {
                concurrency: 2
              })
              expect(both.filter((settled) => settled !== undefined).length).toBeLessThan(2)
            }
            return end === "unsettled" ? undefined : requestId
          })

        const playAll = (stories: ReadonlyArray<Story>, customers: readonly [Customer, Customer, Customer]) =>
          Effect.gen(function* () {
            const nodes = yield* Effect.all([
              aNode({ batchSize: 9 }),
              aNode({ batchSize: 4, queues: 2 }),
              aNode({ batchSize: 6 })
            ])
            yield* nodes[2].nodes.leave
            const settledIds = yield* Effect.forEach(
              stories,
              (one) => play(one, nodes[one.node].ledger, customers[one.customer]),
              { concurrency: 40 }
            )
            yield* Effect.forEach(nodes, ({ nodes }) => nodes.leave)
            return settledIds
          })

        for (const stories of FastCheck.sample(
          FastCheck.array(story, { minLength: PER_RUN, maxLength: PER_RUN }),
          RUNS
        )) {
          const customers = yield* Effect.all([
            aCustomer({ usdMicro: 2n }),
            aCustomer({ usdMicro: 1n, planTokens: 1_500n }),
            aCustomer({ planTokens: 900n })
          ])
          // The end of this scope waits until the nodes have written the settlements that nothing waits for.
          const settledIds = yield* Effect.scoped(playAll(stories, customers))
          yield* Effect.all([holds.sweep, holds.sweep], { concurrency: 2 })

          expect(yield* openHolds).toBe(0n)
          expect(yield* Stores.brokenInvariants).toEqual([])
          const journals = yield* Effect.forEach(customers, journal)
          for (const requestId of settledIds) {
            if (requestId !== undefined) expect(journals.filter((found) => found.has(requestId))).toHaveLength(1)
          }
          for (const customer of customers) {
            const { payg, plan } = yield* balancesOf(customer)
            expect([payg[1], plan[1]]).toEqual([0n, 0n])
          }
        }
      })
    )

    it.scoped("set aside no more than the balances", () =>
      Effect.gen(function* () {
        const sweeps = yield* OpenHolds
        const nodes = yield* Effect.all([aNode({ batchSize: 4 }), aNode({ queues: 2 }), aNode({ batchSize: 2 })])
        yield* nodes[2].nodes.leave
        const groups = FastCheck.array(
          FastCheck.array(step, { minLength: STEPS_PER_GROUP, maxLength: STEPS_PER_GROUP }),
          {
            minLength: GROUPS,
            maxLength: GROUPS
          }
        )
        for (const run of FastCheck.sample(groups, RUNS)) {
          const customers = yield* Effect.all([
            aCustomer({ usdMicro: 2n }),
            aCustomer({ usdMicro: 1n, planTokens: 600n }),
            aCustomer({ planTokens: 900n })
          ])
          const open: Array<Open> = []
          const removeOpen = (at: number) => open.splice(at % Math.max(1, open.length), 1)

          const ledgerOf = (node: number) => (nodes[node] ?? nodes[0]).ledger
          const settle = ({ admission, node, hold }: Open, deliveredPercent: bigint) =>
            Effect.gen(function* () {
              const covered = coveredBy({ admission, node, hold })
              const output = ((covered ?? 0n) * deliveredPercent) / 100n
              const request =
                covered === undefined ? failed(admission) : complete(admission, admission.estimate.inputCeiling, output)
              const settled = yield* ledgerOf(node).settle(request)
              // Undefined: a sweep has settled the request.
              expect(settled?.settlement.writeoffPico ?? 0n).toBe(0n)
              if (node !== 2) expect(settled).toBeDefined()
            })

          const play = (one: Step) =>
            Effect.gen(function* () {
              if (one.kind === "admit") {
                const customer = customers[one.customer] ?? customers[0]
                const admission = aRequest(customer, one.input, 1n)
                const hold = yield* Effect.either(ledgerOf(one.node).admit(admission))
                if (Either.isRight(hold)) open.push({ admission, node: one.node, hold: hold.right })
              } else if (one.kind === "extend") {
                const [running] = removeOpen(one.at)
                if (running === undefined) return
                const { admission, node, hold } = running
                const growth = extension(admission, one.output, admission.estimate.inputCeiling)
                const grown = yield* ledgerOf(node).extend(growth)
                if (grown === undefined) {
                  expect(node).toBe(2)
                  return
                }
                expect(grown.planTokens).toBeGreaterThanOrEqual(hold.planTokens)
                expect(grown.paygPico).toBeGreaterThanOrEqual(hold.paygPico)
                open.push({ admission, node, hold: grown })
              } else if (one.kind === "settle") {
                yield* Effect.forEach(removeOpen(one.at), (running) => settle(running, one.deliveredPercent))
              } else if (one.kind === "sweep") yield* sweeps.sweep
              else yield* mint(customers[one.customer] ?? customers[0], 50n)
            })

          for (const group of run) {
            yield* Effect.forEach(group, play, { concurrency: "unbounded" })
            expect(yield* wrongAccounts).toEqual([])
          }
          yield* Effect.forEach(open.splice(0), (running) => settle(running, 50n), { concurrency: "unbounded" })
          yield* sweeps.sweep
          expect(yield* openHolds).toBe(0n)
          expect(yield* wrongAccounts).toEqual([])
          expect(yield* Stores.brokenInvariants).toEqual([])
        }
      })
    )
  })
})
