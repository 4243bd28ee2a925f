import { describe, expect, layer } from "@effect/vitest"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
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
  failed,
  journal,
  mint,
  openHolds
} from "./Customers.ts"

/** The events of one request. Nodes 0 and 1 are alive. Node 2 has deregistered, so sweeps judge it dead. */
interface Story {
  readonly customer: 0 | 1 | 2
  readonly node: 0 | 1 | 2
  readonly input: bigint
  readonly output: bigint
  readonly end: "complete" | "failed" | "twice" | "checkpoint" | "unsettled"
  readonly also: "nothing" | "sweep" | "credit" | "mint"
}

const story: FastCheck.Arbitrary<Story> = FastCheck.record({
  customer: FastCheck.constantFrom(0, 1, 2),
  node: FastCheck.constantFrom(0, 1, 2),
  input: FastCheck.bigInt(1n, 300n),
  output: FastCheck.bigInt(1n, 60n),
  end: FastCheck.constantFrom("complete", "failed", "twice", "checkpoint", "unsettled"),
  also: FastCheck.oneof(
    { weight: 4, arbitrary: FastCheck.constant("nothing" as const) },
    { weight: 1, arbitrary: FastCheck.constantFrom("sweep" as const, "credit" as const, "mint" as const) }
  )
})

const RUNS = 4
const PER_RUN = 150

describe("three nodes with concurrent requests, sweeps, credits and mints", () => {
  layer(Layer.provideMerge(PgOpenHolds.layer(), Stores.layer), { excludeTestServices: true })((it) => {
    it.scoped("settle every admitted request exactly once and keep the ledger balanced", () =>
      Effect.gen(function* () {
        const { credit } = yield* PaygAccounts
        const holds = yield* OpenHolds
        const nodes = yield* Effect.all([
          aNode({ batchSize: 9 }),
          aNode({ batchSize: 4, queues: 2 }),
          aNode({ batchSize: 6 })
        ])
        const [, , mortal] = nodes
        yield* mortal.nodes.leave
        let operations = 0

        const play = ({ node, input, output, end, also }: Story, customer: Customer) =>
          Effect.gen(function* () {
            const { ledger } = nodes[node]
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

        for (const stories of FastCheck.sample(
          FastCheck.array(story, { minLength: PER_RUN, maxLength: PER_RUN }),
          RUNS
        )) {
          const customers = yield* Effect.all([
            aCustomer({ usdMicro: 2n }),
            aCustomer({ usdMicro: 1n, planTokens: 1_500n }),
            aCustomer({ planTokens: 900n })
          ])
          const settledIds = yield* Effect.forEach(stories, (one) => play(one, customers[one.customer]), {
            concurrency: 40
          })
          yield* Effect.forEach(nodes, ({ nodes }) => nodes.leave)
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
  })
})
