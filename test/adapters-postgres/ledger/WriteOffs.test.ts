import { describe, expect, layer } from "@effect/vitest"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { WriteOffSums, WriteOffs } from "@tollgate/application/ledger/WriteOffs"
import { outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { writeOffReasons } from "@tollgate/domain/inference/WriteOff"
import type { UsageSource } from "@tollgate/domain/ledger/Settlement"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { Effect, Layer } from "effect"
import { vi } from "vitest"
import * as Stores from "../../support/Stores.ts"
import { anImage, anImageNode, finished } from "../images/Images.ts"
import { aCustomer, aNode, aRequest, complete, measured } from "./Customers.ts"

// The balance of 1 micro-USD is 1,000,000 pico-USD. The usage of 96 input and 251 output tokens costs 1,100,000
// pico-USD, so 100,000 pico-USD are written off.
const newPoorCustomer = aCustomer({ usdMicro: 1n })
const usage = TokenUsage.plain(Tokens(96n), Tokens(251n))
const WRITTEN_OFF = 100_000n

const requestOfPoorCustomer = (streamed: boolean) =>
  Effect.map(newPoorCustomer, (customer) => ({ ...aRequest(customer), streamed }))

const charging = (source: UsageSource) => () => ({
  ...measured("complete"),
  charge: { charged: usage, consumed: usage, source }
})

const sums = new WriteOffSums()
const byReason = () => Object.fromEntries(writeOffReasons.map((reason) => [reason, sums.of(reason)]))
const expected = { whole_response: 0n, reported_usage: 0n, prompt_count: 0n, image: 0n, orphaned: 0n }

const stores = Layer.provideMerge(PgOpenHolds.layer(), Stores.layer).pipe(
  Layer.provideMerge(Layer.succeed(WriteOffs, sums))
)

// Each test adds to the sums of the previous test.
describe("the sums of write-offs", () => {
  layer(stores, { excludeTestServices: true })((it) => {
    it.scoped("count each write-off of the ledger once, under its reason", () =>
      Effect.gen(function* () {
        const { ledger } = yield* aNode()
        const [whole, reported, counted, covered] = yield* Effect.all(
          [false, true, true, false].map(requestOfPoorCustomer)
        )
        if (!whole || !reported || !counted || !covered) return yield* Effect.dieMessage("four requests are expected")
        for (const request of [whole, reported, counted, covered]) yield* ledger.admit(request)
        yield* ledger.settle({ admission: whole, measure: charging("upstream") })
        expect(yield* ledger.settle({ admission: whole, measure: charging("upstream") })).toBeUndefined()
        yield* ledger.settle({ admission: counted, measure: charging("local") })
        yield* ledger.settle(complete(covered))
        yield* ledger.settleLater({ admission: reported, measure: charging("mixed") })
        expected.whole_response = WRITTEN_OFF
        expected.reported_usage = WRITTEN_OFF
        expected.prompt_count = WRITTEN_OFF
        yield* Effect.promise(() => vi.waitFor(() => expect(byReason()).toEqual(expected), 30_000))
      })
    )

    it.scoped("count the write-off of an image", () =>
      Effect.gen(function* () {
        const { begin, finish } = yield* anImageNode()
        const image = anImage(yield* newPoorCustomer)
        yield* begin(image)
        const outcome = outcomeOf({ _tag: "Completed", usage: { prompt: usage, output: usage.output } }, true)
        expect(yield* finish(finished(image, outcome))).toEqual(outcome)
        expected.image = WRITTEN_OFF
        expect(byReason()).toEqual(expected)
      })
    )

    it.scoped("count the write-off of a request that a sweep settles", () =>
      Effect.gen(function* () {
        const { ledger, nodes } = yield* aNode()
        const { requestId, ...request } = yield* requestOfPoorCustomer(true)
        yield* ledger.admit({ requestId, ...request })
        yield* ledger.checkpoint([{ requestId, checkpoint: { input: usage.input, output: usage.output } }])
        yield* nodes.leave
        expect(yield* (yield* OpenHolds).sweep).toBe(1)
        expected.orphaned = WRITTEN_OFF
        expect(byReason()).toEqual(expected)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )
  })
})
