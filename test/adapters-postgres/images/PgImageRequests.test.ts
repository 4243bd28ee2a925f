import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import * as PgOpenHolds from "@tollgate/adapters-postgres/ledger/PgOpenHolds"
import * as PgUsageRollUps from "@tollgate/adapters-postgres/rankings/PgUsageRollUps"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { UsageRollUps } from "@tollgate/application/rankings/UsageRollUps"
import { type EndState, outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { Effect, Fiber, Layer, Random } from "effect"
import * as Stores from "../../support/Stores.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Cable } from "../client/Cable.ts"
import {
  aCustomer,
  aNode,
  aRequest,
  balancesOf,
  type Customer,
  complete,
  journal,
  openHolds,
  REQUEST_PICO
} from "../ledger/Customers.ts"
import { anImage, anImageNode, completedImage, ends, expireLeases, finished, storedImages } from "./Images.ts"

const unbounded = { concurrency: "unbounded" } as const
const shortTimeouts = { beginMillis: 1_500, transactionMillis: 2_000, connectMillis: 2_000 }

const tally = (all: ReadonlyArray<string>) =>
  Object.fromEntries([...new Set(all)].map((one) => [one, all.filter((other) => other === one).length]))

/** Starts a node that is connected to the database through a cable (a proxy). */
const wired = (options: Parameters<typeof anImageNode>[0] = {}) =>
  Effect.gen(function* () {
    const cable = yield* Cable.scoped((yield* TestDatabase).settings)
    return { cable, ...(yield* anImageNode(options, cable.settings)) }
  })

const eventually = <A, E, R>(condition: Effect.Effect<A, E, R>, holds: (value: A) => boolean) =>
  Effect.repeat(Effect.delay(condition, "10 millis"), { until: holds }).pipe(Effect.timeout("60 seconds"))

type ImageNode = Effect.Effect.Success<ReturnType<typeof anImageNode>>

/** Begins new images until one begins. A request that is refused after its deadline cannot begin again. */
const beginEventually = (node: Pick<ImageNode, "tryBegin">, customer: Customer, key?: string) =>
  Effect.gen(function* () {
    let image = anImage(customer)
    const begin = Effect.suspend(() => {
      image = anImage(customer)
      return node.tryBegin(image, key)
    })
    yield* eventually(begin, (result) => result === "begun")
    return image
  })

const AMPLE = { usdMicro: 100n }
const UNDEBITED = [100_000_000n, 0n]

describe("image requests", () => {
  layer(Layer.mergeAll(PgOpenHolds.layer(), PgUsageRollUps.layer).pipe(Layer.provideMerge(Stores.layer)), {
    excludeTestServices: true
  })((it) => {
    it.scoped("run one at a time per customer", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const nodes = yield* Effect.all([anImageNode(), anImageNode()])
        const images = Array.from({ length: 100 }, (_, i) => ({ admission: anImage(customer), node: nodes[i % 2] }))
        const results = yield* Effect.all(
          images.map(({ admission, node }) => node?.tryBegin(admission) ?? Effect.die("no node")),
          unbounded
        )
        expect(tally(results)).toEqual({ begun: 1, ImageConcurrencyLimit: 99 })
        expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n, REQUEST_PICO])
        const winner = images[results.indexOf("begun")]?.admission ?? anImage(customer)
        expect(yield* nodes[0].finish(finished(winner))).toEqual(completedImage)
        expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - REQUEST_PICO, 0n])
        expect(yield* storedImages(customer)).toEqual([
          { state: "settled", keyed: false, review: null, ending: "complete", cost: REQUEST_PICO }
        ])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("cannot be stored as running twice for one user", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { user } = yield* aCustomer(AMPLE)
        const two = sql`INSERT INTO image_request (request_id, user_id, lease_until)
          SELECT gen_random_uuid(), ${user.id}::uuid, clock_timestamp() + interval '1 minute'
          FROM generate_series(1, 2)`
        expect((yield* Effect.flip(two)).cause).toMatchObject({ code: "23505", constraint: "image_request_running" })
      })
    )

    it.scoped("run at the same time for different customers", () =>
      Effect.gen(function* () {
        const customers = yield* Effect.all(Array.from({ length: 5 }, () => aCustomer(AMPLE)))
        const node = yield* anImageNode()
        const images = customers.map((customer) => anImage(customer))
        expect(
          tally(
            yield* Effect.all(
              images.map((image) => node.tryBegin(image)),
              unbounded
            )
          )
        ).toEqual({ begun: 5 })
        yield* Effect.all(
          images.map((image) => node.finish(finished(image))),
          unbounded
        )
        expect(yield* openHolds).toBe(0n)
      })
    )

    it.scoped("are charged once per idempotency key", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const nodes = yield* Effect.all([anImageNode(), anImageNode()])
        const results = yield* Effect.all(
          Array.from({ length: 50 }, (_, i) => {
            const node = nodes[i % 2] ?? nodes[0]
            const admission = anImage(customer)
            return Effect.tap(node.tryBegin(admission, "once"), (begun) =>
              begun === "begun" ? node.finish(finished(admission)) : Effect.void
            )
          }),
          unbounded
        )
        expect(tally(results)).toEqual({ begun: 1, IdempotencyKeyReused: 49 })
        expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - REQUEST_PICO, 0n])
        // An idempotency key belongs to one customer, so another customer can use the same text.
        const other = yield* aCustomer(AMPLE)
        const image = anImage(other)
        expect(yield* nodes[0].tryBegin(image, "once")).toBe("begun")
        yield* nodes[0].finish(finished(image))
      })
    )

    it.scoped("with a reused idempotency key are refused for the key, even while another image request runs", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const node = yield* anImageNode()
        const image = anImage(customer)
        yield* node.begin(image, "k")
        expect(yield* node.tryBegin(anImage(customer), "k")).toBe("IdempotencyKeyReused")
        expect(yield* node.tryBegin(anImage(customer), "other")).toBe("ImageConcurrencyLimit")
        yield* node.finish(finished(image))
        expect(yield* node.tryBegin(anImage(customer), "k")).toBe("IdempotencyKeyReused")
        const next = anImage(customer)
        expect(yield* node.tryBegin(next, "other")).toBe("begun")
        yield* node.finish(finished(next))
      })
    )

    it.scoped("store no rows when they are refused", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({})
        const node = yield* anImageNode()
        expect(yield* node.tryBegin(anImage(customer), "k")).toBe("InsufficientBalance")
        yield* Effect.flatMap(PaygAccounts, (accounts) =>
          accounts.credit({
            email: customer.user.email,
            amount: UsdMicro(100n),
            operationId: OperationId.make(`later, to ${customer.user.id}`),
            operator: Stores.operator
          })
        )
        yield* sql`UPDATE app_user SET status = 'blocked' WHERE id = ${customer.user.id}`
        expect(yield* node.tryBegin(anImage(customer), "k")).toBe("InvalidApiKey")
        expect(yield* storedImages(customer)).toEqual([])
        expect((yield* balancesOf(customer)).payg).toEqual(UNDEBITED)
        yield* sql`UPDATE app_user SET status = 'active' WHERE id = ${customer.user.id}`
        const image = anImage(customer)
        expect(yield* node.tryBegin(image, "k")).toBe("begun")
        yield* node.finish(finished(image))
      })
    )

    const endings: ReadonlyArray<readonly [EndState, review: EndState | null, ending: string, cost: bigint]> = [
      ["settled", null, "complete", REQUEST_PICO],
      ["unmetered", "unmetered", "complete", 0n],
      ["declined", null, "failed", 0n],
      ["timeout", "timeout", "failed", 0n],
      ["withheld", "withheld", "failed", 0n],
      ["failed", null, "failed", 0n],
      ["abandoned", "abandoned", "client_gone", 0n]
    ]
    for (const [state, review, ending, cost] of endings) {
      it.scoped(`are charged ${cost} pico-USD in the state ${state}`, () =>
        Effect.gen(function* () {
          const customer = yield* aCustomer(AMPLE)
          const node = yield* anImageNode()
          const image = anImage(customer)
          yield* node.begin(image, "k")
          const outcome = outcomeOf(ends[state], true)
          expect(yield* node.finish(finished(image, outcome))).toEqual(outcome)
          expect(yield* storedImages(customer)).toEqual([{ state, keyed: true, review, ending, cost }])
          expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - cost, 0n])
          // A second finish with another outcome changes no balance.
          expect(yield* node.finish(finished(image))).toBeUndefined()
          expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - cost, 0n])
          expect(yield* Stores.brokenInvariants).toEqual([])
        })
      )
    }

    it.scoped("debit the plan first", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ ...AMPLE, planTokens: 96n })
        const node = yield* anImageNode()
        const image = anImage(customer)
        yield* node.begin(image)
        yield* node.finish(finished(image))
        expect(yield* balancesOf(customer)).toEqual({ plan: [0n, 0n], payg: [100_000_000n - 4_000n, 0n] })
      })
    )

    it.scoped("do not use up their idempotency key without a dispatch", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const node = yield* anImageNode()
        const [image, again] = [anImage(customer), anImage(customer)]
        yield* node.begin(image, "k")
        yield* node.finish(finished(image, outcomeOf(ends.timeout, false)))
        expect(yield* storedImages(customer)).toEqual([
          { state: "failed", keyed: false, review: null, ending: "failed", cost: 0n }
        ])
        expect(yield* node.tryBegin(again, "k")).toBe("begun")
        yield* node.finish(finished(again))
      })
    )

    it.scoped("are abandoned by the customer's next request after their lease expires", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const [dead, node] = yield* Effect.all([anImageNode({ leaseSeconds: 0.05 }), anImageNode()])
        const [image, next] = [anImage(customer), anImage(customer)]
        yield* dead.begin(image, "k")
        yield* eventually(node.tryBegin(next, "l"), (begun) => begun === "begun")
        expect(yield* dead.finish(finished(image))).toBeUndefined()
        expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n, REQUEST_PICO])
        yield* node.finish(finished(next))
        expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - REQUEST_PICO, 0n])
        expect(yield* storedImages(customer)).toEqual([
          { state: "abandoned", keyed: true, review: "abandoned", ending: "failed", cost: 0n },
          { state: "settled", keyed: true, review: null, ending: "complete", cost: REQUEST_PICO }
        ])
        expect(yield* node.tryBegin(anImage(customer), "k")).toBe("IdempotencyKeyReused")
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("end once when two reapers and their own node end them", () =>
      Effect.gen(function* () {
        const customers = yield* Effect.all(Array.from({ length: 40 }, () => aCustomer(AMPLE)))
        const nodes = yield* Effect.all([anImageNode(), anImageNode()])
        const images = customers.map((customer) => anImage(customer))
        yield* Effect.all(
          images.map((image) => nodes[0].begin(image)),
          unbounded
        )
        expect(yield* nodes[1].abandon).toBe(0)
        yield* expireLeases
        const [abandoned, outcomes] = yield* Effect.all(
          [
            Effect.all([nodes[0].abandon, nodes[1].abandon], unbounded),
            Effect.all(
              images.map((image) => nodes[0].finish(finished(image))),
              unbounded
            )
          ],
          unbounded
        )
        const finishedInTime = outcomes.filter((outcome) => outcome !== undefined).length
        expect(abandoned[0] + abandoned[1] + finishedInTime).toBe(40)
        expect(yield* openHolds).toBe(0n)
        expect(yield* nodes[1].abandon).toBe(0)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("of a dead node block their customer until their lease expires", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const [dead, node] = yield* Effect.all([anImageNode(), anImageNode()])
        const image = anImage(customer)
        yield* dead.begin(image)
        yield* dead.nodes.leave
        expect(yield* Effect.flatMap(OpenHolds, ({ sweep }) => sweep)).toBe(1)
        expect((yield* balancesOf(customer)).payg).toEqual(UNDEBITED)
        expect(yield* node.tryBegin(anImage(customer))).toBe("ImageConcurrencyLimit")
        expect(yield* Stores.brokenInvariants).toEqual([])
        yield* expireLeases
        expect(yield* node.abandon).toBe(1)
        expect(yield* storedImages(customer)).toEqual([
          { state: "abandoned", keyed: false, review: "abandoned", ending: "failed", cost: 0n }
        ])
        const next = anImage(customer)
        expect(yield* node.tryBegin(next)).toBe("begun")
        yield* node.finish(finished(next))
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("are abandoned if a sweep settles their hold before they finish", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const node = yield* anImageNode()
        const image = anImage(customer)
        yield* node.begin(image)
        yield* node.nodes.leave
        yield* Effect.flatMap(OpenHolds, ({ sweep }) => sweep)
        expect(yield* node.finish(finished(image))).toBeUndefined()
        expect(yield* storedImages(customer)).toMatchObject([{ state: "abandoned", review: "abandoned", cost: 0n }])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("are not counted in the rankings", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer(AMPLE)
        const node = yield* anImageNode()
        const { ledger } = yield* aNode()
        const image = anImage(customer)
        const ranked = sql<{ tokens: string | null }>`SELECT sum(tokens)::text AS tokens FROM (
          SELECT tokens FROM usage_delta WHERE model_id = ${customer.model.id}
          UNION ALL SELECT tokens FROM usage_rollup WHERE grain = 'day' AND model_id = ${customer.model.id}) AS counted`
        const [before] = yield* ranked
        yield* node.begin(image)
        yield* node.finish(finished(image))
        expect(yield* ranked).toEqual([before])
        expect((yield* journal(customer)).get(image.requestId)).toBe("complete")
        const { fold, rebuild } = yield* UsageRollUps
        yield* fold
        expect(yield* rebuild).toMatchObject({ corrected: 0 })
        expect(yield* ranked).toEqual([before])
        expect(yield* Stores.brokenInvariants).toEqual([])
        const text = aRequest(customer)
        yield* ledger.admit(text)
        yield* ledger.settle(complete(text))
        expect(yield* ranked).toEqual([{ tokens: (BigInt(before?.tokens ?? "0") + 97n).toString() }])
      })
    )

    it.scoped("lose the digest of their idempotency key after 90 days", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer(AMPLE)
        const node = yield* anImageNode()
        const age = (days: number) =>
          sql.withTransaction(
            sql.unsafe(`SET LOCAL session_replication_role = replica;
              UPDATE image_request SET started_at = clock_timestamp() - interval '${days} days'
              WHERE user_id = '${customer.user.id}'`)
          )
        const image = anImage(customer)
        yield* node.begin(image, "k")
        yield* node.finish(finished(image))
        yield* age(89)
        expect(yield* node.deleteOldKeys).toBe(0)
        expect(yield* node.tryBegin(anImage(customer), "k")).toBe("IdempotencyKeyReused")
        yield* age(91)
        expect(yield* node.deleteOldKeys).toBe(1)
        expect(yield* node.deleteOldKeys).toBe(0)
        expect(yield* storedImages(customer)).toEqual([
          { state: "settled", keyed: false, review: null, ending: "complete", cost: REQUEST_PICO }
        ])
        const again = anImage(customer)
        expect(yield* node.tryBegin(again, "k")).toBe("begun")
        yield* node.finish(finished(again))
      })
    )

    for (const fault of ["commit lost", "response lost"] as const) {
      it.scoped(`begin once when the connection is lost at the commit (${fault})`, () =>
        Effect.gen(function* () {
          const customer = yield* aCustomer(AMPLE)
          const node = yield* wired()
          void node.cable.atNextCommit(fault)
          const image = anImage(customer)
          yield* node.begin(image, "k")
          expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n, REQUEST_PICO])
          expect(yield* storedImages(customer)).toMatchObject([{ state: "running", keyed: true }])
          yield* node.finish(finished(image))
          expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - REQUEST_PICO, 0n])
        })
      )

      it.scoped(`end once when the connection is lost at the commit (${fault})`, () =>
        Effect.gen(function* () {
          const customer = yield* aCustomer(AMPLE)
          const node = yield* wired()
          const image = anImage(customer)
          yield* node.begin(image)
          void node.cable.atNextCommit(fault)
          expect(yield* node.finish(finished(image))).toEqual(completedImage)
          expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - REQUEST_PICO, 0n])
          expect(yield* Stores.brokenInvariants).toEqual([])
        })
      )
    }

    it.scoped("end without a charge if their admission is unconfirmed at its deadline", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const node = yield* wired(shortTimeouts)
        const happened = node.cable.atNextCommit("response lost")
        const beginning = yield* Effect.fork(node.tryBegin(anImage(customer), "k"))
        yield* Effect.promise(() => happened)
        node.cable.cut()
        expect(yield* Fiber.join(beginning)).toBe("Overloaded")
        node.cable.mend()
        yield* eventually(storedImages(customer), (rows) => rows.every(({ state }) => state !== "running"))
        const again = yield* beginEventually(node, customer, "k")
        yield* node.finish(finished(again))
        expect((yield* balancesOf(customer)).payg).toEqual([100_000_000n - REQUEST_PICO, 0n])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("are refused when too many requests wait to begin", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const node = yield* wired({ ...shortTimeouts, waiting: 3 })
        node.cable.cut()
        const refused: Array<number> = []
        const results = yield* Effect.all(
          Array.from({ length: 8 }, (_, i) => Effect.tap(node.tryBegin(anImage(customer)), () => refused.push(i))),
          unbounded
        )
        expect(tally(results)).toEqual({ Overloaded: 8 })
        // Three requests wait until their timeout. The other five are refused before.
        expect(refused.slice(0, 5)).toEqual([3, 4, 5, 6, 7])
        node.cable.mend()
        const image = yield* beginEventually(node, customer)
        const running = (yield* storedImages(customer)).filter(({ state }) => state === "running")
        expect(running).toHaveLength(1)
        yield* node.finish(finished(image))
      })
    )

    it.scoped("end with their latest outcome after a database outage", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const node = yield* wired(shortTimeouts)
        const image = anImage(customer)
        yield* node.begin(image)
        let gone = false
        const outcome = () => outcomeOf(gone ? { _tag: "ClientGone", usage: ends.settled.usage } : ends.settled, true)
        node.cable.cut()
        const finishing = yield* Effect.fork(node.finish({ admission: image, outcome, durationMillis: 5 }))
        yield* Effect.sleep("50 millis")
        gone = true
        node.cable.mend()
        expect(yield* Fiber.join(finishing)).toMatchObject({ state: "abandoned", response: { _tag: "None" } })
        expect((yield* balancesOf(customer)).payg).toEqual(UNDEBITED)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("do not delay other customers while their account row is locked", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [one, idle, ...others] = yield* Effect.all(Array.from({ length: 6 }, () => aCustomer(AMPLE)))
        if (one === undefined || idle === undefined) return yield* Effect.die("no customers")
        const node = yield* anImageNode({ beginMillis: 1_500 })
        const image = anImage(one)
        expect(yield* node.tryBegin(image)).toBe("begun")
        const [begun, finishing] = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT FROM account WHERE user_id IN (${one.user.id}, ${idle.user.id}) FOR NO KEY UPDATE`
            const finishing = yield* Effect.forkScoped(node.finish(finished(image)))
            const refused = yield* Effect.forkScoped(node.tryBegin(anImage(idle)))
            yield* Effect.yieldNow()
            for (const other of [...others, ...others]) {
              const theirs = anImage(other)
              const both = Effect.zipRight(node.tryBegin(theirs), node.finish(finished(theirs)))
              expect(yield* Effect.timeout(both, "1 second")).toEqual(completedImage)
            }
            return [yield* Fiber.join(refused), finishing] as const
          })
        )
        expect(begun).toBe("Overloaded")
        expect(yield* Effect.timeout(Fiber.join(finishing), "2 seconds")).toEqual(completedImage)
        expect((yield* balancesOf(one)).payg).toEqual([100_000_000n - REQUEST_PICO, 0n])
        expect(yield* node.tryBegin(anImage(idle))).toBe("begun")
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("are refused while another session locks their user row", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [one, ...others] = yield* Effect.all(Array.from({ length: 5 }, () => aCustomer(AMPLE)))
        if (one === undefined) return yield* Effect.die("no customers")
        const node = yield* anImageNode({ beginMillis: 1_500 })
        const begun = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT FROM app_user WHERE id = ${one.user.id} FOR UPDATE`
            const refused = yield* Effect.forkScoped(node.tryBegin(anImage(one)))
            yield* Effect.yieldNow()
            for (const other of [...others, ...others]) {
              const theirs = anImage(other)
              const both = Effect.zipRight(node.tryBegin(theirs), node.finish(finished(theirs)))
              expect(yield* Effect.timeout(both, "1 second")).toEqual(completedImage)
            }
            return yield* Fiber.join(refused)
          })
        )
        expect(begun).toBe("Overloaded")
        expect(yield* node.tryBegin(anImage(one))).toBe("begun")
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("finish while their node stops", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer(AMPLE)
        const image = anImage(customer)
        const outcome = yield* Effect.scoped(
          Effect.gen(function* () {
            const node = yield* anImageNode()
            yield* node.begin(image)
            return yield* Effect.forkDaemon(node.finish(finished(image)))
          })
        )
        expect(yield* Fiber.join(outcome)).toEqual(completedImage)
      })
    )

    const seed = Math.trunc(Math.random() * 2 ** 31)
    it.scoped(`keep the ledger consistent while text requests run (seed ${seed})`, () =>
      Effect.gen(function* () {
        const customers = yield* Effect.all(
          Array.from({ length: 3 }, (_, i) => aCustomer({ usdMicro: 3n, planTokens: BigInt(i + 1) * 300n }))
        )
        const nodes = yield* Effect.all([anImageNode(), anImageNode()])
        const { ledger } = yield* aNode({ batchSize: 4 })
        const { sweep } = yield* OpenHolds
        const states = Object.keys(ends) as ReadonlyArray<EndState>
        const pick = <A>(all: ReadonlyArray<A>) =>
          Effect.map(Random.nextIntBetween(0, all.length), (i) => all[i] ?? (all[0] as A))
        const image = Effect.gen(function* () {
          const begins = yield* pick(nodes)
          const admission = anImage(yield* pick(customers), BigInt(yield* Random.nextIntBetween(1, 900)))
          const key = yield* pick([undefined, "a", "b", "c", "d"])
          const begun = yield* begins.tryBegin(admission, key)
          if (begun !== "begun") return begun
          // Some requests never finish.
          if ((yield* Random.next) < 0.1) return begun
          const outcome = outcomeOf(ends[yield* pick(states)], yield* Random.nextBoolean)
          yield* begins.finish(finished(admission, outcome))
          return begun
        })
        const text = Effect.gen(function* () {
          const request = aRequest(yield* pick(customers), BigInt(yield* Random.nextIntBetween(1, 900)))
          if ((yield* Effect.either(ledger.admit(request)))._tag === "Right") yield* ledger.settle(complete(request))
          return "text"
        })
        // A node abandons requests that never finish, and requests that another node has not finished yet.
        const abandonment = Effect.gen(function* () {
          yield* expireLeases
          yield* (yield* pick(nodes)).abandon
          return "abandoned"
        })
        const steps = Array.from({ length: 240 }, () =>
          Effect.flatMap(Random.next, (draw) =>
            draw < 0.5 ? image : draw < 0.55 ? abandonment : draw < 0.97 ? text : Effect.as(sweep, "swept")
          )
        )
        const results = yield* Effect.all(steps, { concurrency: 12 })
        expect(tally(results).begun).toBeGreaterThan(5)
        expect(yield* Stores.brokenInvariants).toEqual([])
        yield* expireLeases
        yield* nodes[0].abandon
        expect(yield* openHolds).toBe(0n)
        for (const customer of customers) {
          const { payg, plan } = yield* balancesOf(customer)
          expect([payg[1], plan[1]]).toEqual([0n, 0n])
        }
        expect(yield* Stores.brokenInvariants).toEqual([])
      }).pipe(Effect.withRandom(Random.make(seed)))
    )
  })
})
