import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { TopUpCounts } from "@tollgate/application/topup/TopUpCounts"
import { OperationUsed, TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import { Idr } from "@tollgate/domain/money/Idr"
import { TokenRaw } from "@tollgate/domain/money/TokenRaw"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { PaymentInstructions } from "@tollgate/domain/topup/PaymentMethod"
import {
  OrderId,
  TooManyUnpaidOrders,
  type TopUpDraft,
  TopUpNotFound,
  type TopUpOrder
} from "@tollgate/domain/topup/TopUpOrder"
import { Array as Arr, Context, Duration, Effect, Option } from "effect"
import * as Programme from "../../support/Programme.ts"
import * as Stores from "../../support/Stores.ts"

const { aNewTopUp, anOpening, anotherNode, anOrder, aReseller, balance, credit, isNow, recordObservation, paid } =
  Programme

const NO_ORDER = OrderId.make("0193a5c2-0000-7000-8000-000000000000")

const inRupiah = {
  method: "qris" as const,
  amount: { _tag: "Rupiah" as const, amountIdr: Idr(10_001n), feeIdr: Idr(501n), totalIdr: Idr(10_502n) },
  quotaUsdMicro: UsdMicro(1_000_100n),
  provider: "midtrans",
  needsDepositIndex: false
}
const qris: PaymentInstructions = { _tag: "Qris", qrContent: "000201", qrImageUrl: undefined }

/** Makes a time of this order earlier by this number of seconds. */
const ago = (id: OrderId, column: "created_at" | "next_look_at", seconds: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.withTransaction(
      sql.unsafe(`SET LOCAL session_replication_role = replica;
        UPDATE topup_order SET ${column} = ${column} - interval '${seconds} seconds' WHERE id = '${id}'`)
    )
  ).pipe(Effect.orDie)

const dueAt = (id: OrderId) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ next_look_at: Date | null }>`SELECT next_look_at FROM topup_order WHERE id = ${id}`, ([row]) =>
      row?.next_look_at?.getTime()
    )
  ).pipe(Effect.orDie)

const nothingIsDue = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE topup_order SET next_look_at = NULL WHERE next_look_at IS NOT NULL`
).pipe(Effect.orDie)

const storedOrder = (resellerId: ResellerId, id: OrderId) =>
  Effect.flatMap(TopUpOrders, (orders) => Effect.map(orders.findForReseller(resellerId, id), ({ order }) => order))

describe("a top-up", () => {
  layer(Programme.layer, { excludeTestServices: true })((it) => {
    it.effect("is neither found nor listed until its payment is opened", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const reseller = yield* aReseller()
        const draft = yield* orders.draft(aNewTopUp(reseller.id))
        expect(draft).toMatchObject({ resellerId: reseller.id, method: "crypto_bep20", quotaUsdMicro: 10_000_000n })
        expect(isNow(draft.createdAt)).toBe(true)
        expect(yield* orders.find(draft.id)).toEqual(Option.none())
        expect(yield* Effect.flip(orders.findForReseller(reseller.id, draft.id))).toEqual(new TopUpNotFound())
        expect(yield* orders.list(reseller.id, { limit: 9, offset: 0 })).toEqual({ topUps: [], total: 0 })

        const opening = anOpening(draft)
        const stored = Option.getOrThrow(yield* orders.makeReady(draft.id, opening))
        const { state, ...opened } = opening
        expect(stored.order).toEqual({
          ...draft,
          ...opened,
          status: "pending",
          received: { receivedRaw: undefined, receivedUsdMicro: undefined },
          evidence: { transactions: [], remarks: [] },
          paidAt: undefined,
          creditedAt: undefined,
          refreshedAt: undefined
        })
        expect(stored.payer).toEqual({ name: reseller.name, email: reseller.email })
        expect(stored.providerState).toEqual(state)
        expect(yield* orders.find(draft.id)).toEqual(Option.some(stored))
        expect(yield* orders.findForReseller(reseller.id, draft.id)).toEqual(stored)
      })
    )

    it.effect("stores its payment instructions unchanged", () =>
      Effect.gen(function* () {
        const reseller = yield* aReseller()
        const rupiah = yield* anOrder(reseller.id, inRupiah, { instructions: qris, state: undefined })
        expect(rupiah).toMatchObject({
          method: "qris",
          amount: inRupiah.amount,
          instructions: qris,
          depositIndex: undefined
        })
        const { feeIdr: _, ...free } = inRupiah.amount
        const hosted = yield* anOrder(
          reseller.id,
          { ...inRupiah, method: "hosted_qris", amount: { ...free, feeIdr: Idr(0n), totalIdr: Idr(10_001n) } },
          { instructions: { _tag: "HostedQris", qrContent: "00", paymentUrl: "https://pay.example" } }
        )
        expect(hosted.instructions).toEqual({ _tag: "HostedQris", qrContent: "00", paymentUrl: "https://pay.example" })
        const crypto: PaymentInstructions = {
          _tag: "Crypto",
          depositAddresses: [
            { network: "trx", tokenKind: "usdt", depositAddress: "T1", amount: "10.000001", memo: "7" },
            { network: "bsc", tokenKind: "usdc", depositAddress: "0x2", amount: "10", memo: undefined }
          ]
        }
        const several = yield* anOrder(
          reseller.id,
          { method: "crypto", provider: "nowpayments", needsDepositIndex: false },
          { instructions: crypto, state: { payments: [1, "2", null] } }
        )
        expect(several.instructions).toEqual(crypto)
        for (const order of [rupiah, hosted, several]) expect(yield* storedOrder(reseller.id, order.id)).toEqual(order)
        const stored = yield* (yield* TopUpOrders).findForReseller(reseller.id, several.id)
        expect(stored.providerState).toEqual({ payments: [1, "2", null] })
      })
    )

    it.scoped("is refused while its reseller has 50 unpaid orders", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const elsewhere = yield* Effect.provide(TopUpOrders, yield* anotherNode)
        const reseller = yield* aReseller()
        const drafts = yield* Effect.forEach(
          Array.from({ length: 80 }, (_, i) => (i % 2 === 0 ? orders : elsewhere)),
          (node) => Effect.either(node.draft(aNewTopUp(reseller.id))),
          { concurrency: 20 }
        )
        const [refused, allowed] = Arr.separate(drafts)
        expect(allowed).toHaveLength(50)
        for (const refusal of refused) expect(refusal).toMatchObject({ maxUnpaidOrders: 50, retryAfterSeconds: 20 })
        yield* orders.draft(aNewTopUp((yield* aReseller()).id))
      })
    )

    it.scoped("is drafted once by concurrent requests with one operation id", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const elsewhere = yield* Effect.provide(TopUpOrders, yield* anotherNode)
        const reseller = yield* aReseller()
        const operationId = OperationId.make("topup-1")
        const topUp = aNewTopUp(reseller.id, { operationId })
        yield* Effect.replicateEffect(orders.draft(aNewTopUp(reseller.id)), 49)
        const drafts = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? orders : elsewhere)),
          (node) => Effect.either(node.draft(topUp)),
          { concurrency: "unbounded" }
        )
        const [used, [draft, ...others]] = Arr.separate(drafts)
        if (draft === undefined) throw new Error("no request drafted the order")
        expect(others).toEqual([])
        expect(used).toEqual(Array(19).fill(new OperationUsed({ earlier: { operationId, draft, order: undefined } })))
        const opened = Option.getOrThrow(yield* orders.makeReady(draft.id, anOpening(draft)))
        expect(yield* elsewhere.ofOperation(reseller.id, operationId)).toEqual(
          Option.some({ operationId, draft, order: opened.order })
        )
        const foreign = yield* aReseller()
        expect(yield* orders.ofOperation(foreign.id, operationId)).toEqual(Option.none())
        yield* orders.draft(aNewTopUp(foreign.id, { operationId }))
      })
    )

    it.effect("releases its operation id when it is abandoned", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const reseller = yield* aReseller()
        const topUp = aNewTopUp(reseller.id, { operationId: OperationId.make("topup-1") })
        const first = yield* orders.draft(topUp)
        yield* orders.abandon(first.id, "the provider does not respond")
        expect(yield* orders.ofOperation(reseller.id, OperationId.make("topup-1"))).toEqual(Option.none())
        const second = yield* orders.draft(topUp)
        expect(second.id).not.toBe(first.id)
      })
    )

    it.effect("is allowed again when an unpaid order expires", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const reseller = yield* aReseller()
        const drafted = orders.draft(aNewTopUp(reseller.id))
        const drafts = yield* Effect.forEach(Arr.range(1, 50), () => drafted)
        const [abandoned, expired, paidOne, underpaid] = drafts as [TopUpDraft, TopUpDraft, TopUpDraft, TopUpDraft]
        expect(yield* Effect.flip(drafted)).toBeInstanceOf(TooManyUnpaidOrders)

        yield* orders.abandon(abandoned.id, "no")
        yield* drafted
        yield* orders.makeReady(expired.id, anOpening(expired, { expiresAt: new Date(Date.now() - 1_000) }))
        yield* drafted
        yield* orders.makeReady(paidOne.id, anOpening(paidOne))
        expect(yield* Effect.flip(drafted)).toBeInstanceOf(TooManyUnpaidOrders)
        yield* recordObservation(paidOne.id, paid)
        yield* drafted
        yield* orders.makeReady(underpaid.id, anOpening(underpaid))
        const some = { receivedRaw: TokenRaw(1n), receivedUsdMicro: undefined }
        yield* recordObservation(underpaid.id, { _tag: "Pending", received: some })
        expect(yield* Effect.flip(drafted)).toBeInstanceOf(TooManyUnpaidOrders)
      })
    )

    it.effect("has a deposit index that no other order gets", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const reseller = yield* aReseller()
        const drafts = yield* Effect.all(
          Array.from({ length: 20 }, () => orders.draft(aNewTopUp(reseller.id))),
          { concurrency: "unbounded" }
        )
        yield* Effect.forEach(drafts, ({ id }) => orders.abandon(id, "no"))
        const more = yield* Effect.forEach(drafts, () => orders.draft(aNewTopUp(reseller.id)))
        const indexes = [...drafts, ...more].map(({ depositIndex }) => depositIndex)
        expect(new Set(indexes).size).toBe(40)
        expect(indexes.every((index) => index !== undefined && index > 0)).toBe(true)
      })
    )

    it.effect("becomes either ready or abandoned, whichever happens first", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const reseller = yield* aReseller()
        const drafts = yield* Effect.forEach(Array.from({ length: 20 }), () => orders.draft(aNewTopUp(reseller.id)))
        const readied = yield* Effect.forEach(
          drafts,
          (draft) =>
            Effect.map(
              Effect.all([orders.makeReady(draft.id, anOpening(draft)), orders.abandon(draft.id, "too\0 slow")], {
                concurrency: 2
              }),
              ([ready]) => Option.isSome(ready)
            ),
          { concurrency: 5 }
        )
        const seen = yield* Effect.forEach(drafts, ({ id }) => Effect.map(orders.find(id), Option.isSome))
        expect(seen).toEqual(readied)
        yield* Effect.forEach(drafts, ({ id }) => orders.abandon(id, "again"))
        expect((yield* orders.list(reseller.id, { limit: 100, offset: 0 })).total).toBe(readied.filter(Boolean).length)
        yield* orders.abandon(NO_ORDER, "unknown")
      })
    )

    it.scoped("is abandoned once by concurrent background tasks", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const there = yield* Effect.provide(TopUpOrders, yield* Programme.anotherNode)
        const reseller = yield* aReseller()
        const drafts = yield* Effect.forEach(Array.from({ length: 12 }), () => orders.draft(aNewTopUp(reseller.id)))
        for (const { id } of drafts) yield* ago(id, "created_at", 600)
        const young = yield* orders.draft(aNewTopUp(reseller.id))
        const found = yield* Effect.all(
          Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? orders : there).abandonStale(Duration.minutes(5))),
          { concurrency: "unbounded" }
        )
        const ours = found.flat().filter(({ draft }) => draft.resellerId === reseller.id)
        expect(ours.map(({ draft }) => draft.id).sort()).toEqual(drafts.map(({ id }) => id).sort())
        expect(ours[0]?.payer).toEqual({ name: reseller.name, email: reseller.email })
        expect(Option.isSome(yield* orders.makeReady(young.id, anOpening(young)))).toBe(true)
        const [first] = drafts
        if (first !== undefined) expect(yield* orders.makeReady(first.id, anOpening(first))).toEqual(Option.none())
      })
    )

    it.effect("is neither found nor listed for another reseller", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const [ours, theirs] = [yield* aReseller(), yield* aReseller()]
        const order = yield* anOrder(theirs.id)
        expect(yield* Effect.flip(orders.findForReseller(ours.id, order.id))).toEqual(new TopUpNotFound())
        expect(yield* Effect.flip(orders.findForReseller(ours.id, NO_ORDER))).toEqual(new TopUpNotFound())
        expect(yield* orders.list(ours.id, { limit: 20, offset: 0 })).toEqual({ topUps: [], total: 0 })
      })
    )

    it.effect("is listed in pages, newest first", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const reseller = yield* aReseller()
        const made: Array<TopUpOrder> = []
        for (let i = 0; i < 7; i++) made.unshift(yield* anOrder(reseller.id))
        const page = (limit: number, offset: number) => orders.list(reseller.id, { limit, offset })
        expect(yield* page(3, 0)).toEqual({ topUps: made.slice(0, 3), total: 7 })
        expect(yield* page(3, 6)).toEqual({ topUps: made.slice(6), total: 7 })
        expect(yield* page(3, 7)).toEqual({ topUps: [], total: 7 })
        expect(yield* page(1, 2_147_483_647)).toEqual({ topUps: [], total: 7 })
      })
    )

    it.effect("can be searched by reseller and status", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const [one, other] = [yield* aReseller(), yield* aReseller()]
        const first = yield* anOrder(one.id)
        const second = yield* anOrder(other.id)
        const third = yield* anOrder(one.id)
        yield* recordObservation(first.id, { _tag: "Expired", received: undefined })
        const found = (filter: { resellerId?: ResellerId; status?: "pending" | "expired" | "credited" }, limit = 3) =>
          Effect.map(orders.search({ resellerId: filter.resellerId, status: filter.status, limit }), (stored) =>
            stored.map(({ order }) => order.id)
          )
        expect(yield* found({})).toEqual([third.id, second.id, first.id])
        expect(yield* found({}, 1)).toEqual([third.id])
        expect(yield* found({ resellerId: one.id })).toEqual([third.id, first.id])
        expect(yield* found({ resellerId: one.id, status: "expired" })).toEqual([first.id])
        expect(yield* found({ resellerId: one.id, status: "credited" })).toEqual([])
        expect((yield* found({ status: "pending" })).slice(0, 2)).toEqual([third.id, second.id])
        const after = yield* orders.search({ resellerId: undefined, status: undefined, olderThan: third, limit: 2 })
        expect(after.map(({ order }) => order.id)).toEqual([second.id, first.id])
      })
    )

    it.effect("keeps the largest received amount of its observations", () =>
      Effect.gen(function* () {
        const { id, resellerId, expiresAt } = yield* anOrder((yield* aReseller()).id)
        const received = { receivedRaw: TokenRaw(2n ** 256n - 1n), receivedUsdMicro: UsdMicro(10n ** 20n) }
        // A provider can send characters that Postgres cannot store.
        const evidence = { transactions: ["0xa"], remarks: ["odd\0 \ud800"] }
        const first = yield* recordObservation(id, { _tag: "Pending", received, evidence })
        expect(first.alert).toBeUndefined()
        const stored = yield* storedOrder(resellerId, id)
        expect(stored).toEqual({ ...first.order, evidence: { transactions: ["0xa"], remarks: ["odd\ufffd \ufffd"] } })
        expect(stored).toMatchObject({ status: "pending", received, expiresAt })
        expect(isNow(stored.refreshedAt)).toBe(true)
        expect(yield* dueAt(id)).toBe((stored.refreshedAt?.getTime() ?? 0) + 30_000)

        const less = { receivedRaw: TokenRaw(1n), receivedUsdMicro: undefined }
        const suspicious = yield* recordObservation(id, {
          _tag: "Suspicious",
          received: less,
          reason: "another currency"
        })
        expect(suspicious.alert).toBe("another currency")
        expect((yield* storedOrder(resellerId, id)).received).toEqual(received)

        const odd = yield* anOrder(resellerId)
        const short = { receivedRaw: undefined, receivedUsdMicro: UsdMicro(9_999_999n) }
        yield* recordObservation(odd.id, {
          _tag: "Suspicious",
          received: short,
          reason: "finished with 9.999999 paid"
        })
        expect(yield* storedOrder(resellerId, odd.id)).toMatchObject({ status: "pending", received: short })

        const { order } = yield* recordObservation(id, { ...paid, received: less })
        expect(order).toMatchObject({ status: "crediting", received })
        expect(yield* storedOrder(resellerId, id)).toEqual(order)
        expect(yield* balance(resellerId)).toBe(0n)
      })
    )

    it.effect("is credited with its quota when it is paid", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const counts = (yield* TopUpCounts).all.find(({ method }) => method === "qris")
        const [openedBefore, creditedBefore] = [counts?.outcomes.opened ?? 0, counts?.outcomes.credited ?? 0]
        const { id, resellerId } = yield* anOrder((yield* aReseller()).id, inRupiah, { instructions: qris })
        expect(yield* credit(id)).toMatchObject({ status: "pending" })
        const { order: paidOrder } = yield* recordObservation(id, paid)
        const credited = yield* credit(id)
        expect(credited).toMatchObject({ ...paidOrder, status: "credited", creditedAt: expect.any(Date) })
        expect(yield* credit(id)).toEqual(credited)
        expect(yield* storedOrder(resellerId, id)).toEqual(credited)
        expect(yield* balance(resellerId)).toBe(1_000_100n)
        expect(yield* dueAt(id)).toBeUndefined()
        expect(yield* sql`SELECT code, unit, amount, actor FROM transfer WHERE ref = ${id}`).toEqual([
          { code: "topup", unit: "usd_micro", amount: 1_000_100n, actor: "topup" }
        ])
        const again = yield* recordObservation(id, { _tag: "Failed", received: undefined, reason: "denied" })
        expect(again.order).toMatchObject({ status: "credited", creditedAt: credited.creditedAt })
        expect(counts?.outcomes).toMatchObject({ opened: openedBefore + 1, credited: creditedBefore + 1 })
        expect(yield* dueAt(id)).toBeUndefined()
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("is refreshed after its credit if it has a deposit address", () =>
      Effect.gen(function* () {
        const { id, resellerId } = yield* anOrder((yield* aReseller()).id)
        yield* recordObservation(id, paid)
        const credited = yield* credit(id)
        expect(yield* dueAt(id)).toBe((credited.creditedAt?.getTime() ?? 0) + 60_000)
        yield* ago(id, "next_look_at", 61)
        const due = yield* (yield* TopUpOrders).claimDue({ providers: ["bsc"], limit: 9, lease: Duration.seconds(5) })
        expect(due.map(({ order }) => order)).toContainEqual(credited)

        const received = { receivedRaw: TokenRaw(25n * 10n ** 18n), receivedUsdMicro: UsdMicro(25_000_000n) }
        const { order } = yield* recordObservation(id, { ...paid, received })
        expect(order).toEqual({ ...credited, received, refreshedAt: order.refreshedAt })
        expect(yield* credit(id)).toEqual(order)
        expect(yield* storedOrder(resellerId, id)).toEqual(order)
        expect(yield* dueAt(id)).toBe((order.refreshedAt?.getTime() ?? 0) + 60_000)
        expect(yield* balance(resellerId)).toBe(10_000_000n)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.effect("is credited by a late payment after it has expired", () =>
      Effect.gen(function* () {
        const { id, resellerId } = yield* anOrder((yield* aReseller()).id, inRupiah, { instructions: qris })
        expect((yield* recordObservation(id, { _tag: "Expired", received: undefined })).order.status).toBe("expired")
        yield* recordObservation(id, paid)
        expect(yield* credit(id)).toMatchObject({ status: "credited" })
        expect(yield* balance(resellerId)).toBe(1_000_100n)
      })
    )

    it.scoped("is credited once by two hundred refreshes on two nodes", () =>
      Effect.gen(function* () {
        const here = yield* TopUpOrders
        const there = yield* Effect.provide(TopUpOrders, yield* Programme.anotherNode)
        const { id, resellerId } = yield* anOrder((yield* aReseller()).id)
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 200 }),
          (_, i) => {
            const orders = i % 2 === 0 ? here : there
            const seen = i % 5 === 4 ? ({ _tag: "Expired", received: undefined } as const) : paid
            return Effect.zipRight(orders.recordObservation(id, seen), orders.credit(id))
          },
          { concurrency: 40 }
        )
        const credited = outcomes.filter(({ status }) => status === "credited")
        expect(credited.length).toBeGreaterThanOrEqual(160)
        expect(new Set(credited.map(({ creditedAt }) => creditedAt?.getTime())).size).toBe(1)
        expect(yield* balance(resellerId)).toBe(10_000_000n)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("is credited when all orders of its reseller are credited concurrently", () =>
      Effect.gen(function* () {
        const there = yield* Effect.provide(TopUpOrders, yield* Programme.anotherNode)
        const here = yield* TopUpOrders
        const reseller = yield* aReseller()
        const orders = yield* Effect.forEach(Array.from({ length: 20 }), () => anOrder(reseller.id))
        yield* Effect.forEach(
          [...orders, ...orders],
          ({ id }, i) => {
            const node = i % 3 === 0 ? here : there
            return Effect.zipRight(node.recordObservation(id, paid), node.credit(id))
          },
          { concurrency: 20 }
        )
        expect(yield* balance(reseller.id)).toBe(200_000_000n)
      })
    )

    it.effect("gets a repeated payment by the id of any of its original payments", () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        const { id: resellerId } = yield* aReseller()
        const crypto: PaymentInstructions = {
          _tag: "Crypto",
          depositAddresses: [{ network: "trx", tokenKind: "usdt", depositAddress: "T1", amount: "10", memo: undefined }]
        }
        const { id } = yield* anOrder(
          resellerId,
          { method: "crypto", provider: "nowpayments", needsDepositIndex: false },
          { instructions: crypto, providerPaymentId: "7001,7002" }
        )
        yield* recordObservation(id, paid)
        yield* credit(id)
        yield* ago(id, "next_look_at", -3_600)
        const note = (paymentId: string, originalId: string, provider = "nowpayments") =>
          Effect.map(orders.noteRepeated(provider, { paymentId, originalId }), Option.getOrUndefined)
        for (const none of [note("8", "7"), note("8", "7001,7002"), note("8", "700"), note("8", "7001", "other")]) {
          expect(yield* none).toBeUndefined()
        }
        expect(yield* dueAt(id)).toBeGreaterThan(Date.now() + 1_800_000)
        expect((yield* note("8001", "7002"))?.repeatedPayments).toEqual(["8001"])
        expect(yield* dueAt(id)).toBeLessThan(Date.now() + 60_000)
        expect((yield* note("8001", "7001"))?.repeatedPayments).toEqual(["8001"])
        expect((yield* note("8002", "7001"))?.repeatedPayments).toEqual(["8001", "8002"])
        for (let i = 3; i < 30; i++) yield* note(`80${i}`, "7001")
        const stored = Option.getOrThrow(yield* orders.find(id))
        expect(stored.repeatedPayments).toHaveLength(20)
        expect(stored.order.status).toBe("credited")
      })
    )

    it.scoped("is due for one node until its lease expires", () =>
      Effect.gen(function* () {
        yield* nothingIsDue
        const here = yield* TopUpOrders
        const there = yield* Effect.provide(TopUpOrders, yield* Programme.anotherNode)
        const reseller = yield* aReseller()
        const orders = yield* Effect.forEach(Array.from({ length: 30 }), () => anOrder(reseller.id))
        for (const [i, { id }] of orders.entries()) yield* ago(id, "next_look_at", 100 + 60 * i)
        const claim = (node: typeof here, limit: number) =>
          node.claimDue({ providers: ["bsc"], limit, lease: Duration.minutes(1) })
        const claimed = yield* Effect.all(
          Array.from({ length: 10 }, (_, i) => claim(i % 2 === 0 ? here : there, 7)),
          { concurrency: "unbounded" }
        )
        const ids = claimed.flatMap((some) => some.map(({ order }) => order.id))
        expect(new Set(ids).size).toBe(ids.length)
        expect(ids.length).toBe(30)
        for (const some of claimed) {
          expect(some.length).toBeLessThanOrEqual(7)
          const places = some.map(({ order }) => orders.findIndex(({ id }) => id === order.id))
          expect(places).toEqual([...places].sort((a, b) => b - a))
        }
        expect(yield* claim(here, 7)).toEqual([])
        const [first] = orders
        if (first === undefined) return
        yield* ago(first.id, "next_look_at", 61)
        expect((yield* claim(there, 7)).map(({ order }) => order)).toEqual([first])
      })
    )

    it.effect("is skipped without waiting while another session has locked its row", () =>
      Effect.gen(function* () {
        yield* nothingIsDue
        const sql = yield* SqlClient.SqlClient
        const orders = yield* TopUpOrders
        const reseller = yield* aReseller()
        const order = yield* anOrder(reseller.id)
        yield* ago(order.id, "next_look_at", 100)
        const draft = yield* orders.draft(aNewTopUp(reseller.id))
        yield* ago(draft.id, "created_at", 600)
        const claims = Effect.all([
          orders.claimDue({ providers: ["bsc"], limit: 9, lease: Duration.minutes(1) }),
          orders.abandonStale(Duration.minutes(5))
        ]).pipe(Effect.mapInputContext(Context.omit(SqlClient.TransactionConnection)<never>))
        const locked = sql`SELECT FROM topup_order WHERE id IN (${order.id}, ${draft.id}) FOR UPDATE`
        expect(yield* sql.withTransaction(Effect.zipRight(locked, claims))).toEqual([[], []])
        const [due, stale] = yield* claims
        expect([due[0]?.order.id, stale[0]?.draft.id]).toEqual([order.id, draft.id])
      })
    )

    it.effect("is due on a server without its provider only if it is paid and not simulated", () =>
      Effect.gen(function* () {
        yield* nothingIsDue
        const orders = yield* TopUpOrders
        const reseller = yield* aReseller()
        const known = yield* anOrder(reseller.id)
        const unknown = yield* anOrder(reseller.id, { provider: "gone" })
        const unbooked = yield* anOrder(reseller.id, { provider: "gone" })
        const simulated = yield* anOrder(reseller.id, { provider: "simulated", simulated: true })
        yield* recordObservation(unbooked.id, paid)
        yield* recordObservation(simulated.id, paid)
        for (const { id } of [simulated, unbooked, unknown, known]) yield* ago(id, "next_look_at", 100)
        const due = yield* orders.claimDue({ providers: ["bsc", "other"], limit: 9, lease: Duration.seconds(5) })
        expect(due.map(({ order }) => order.id).sort()).toEqual([known.id, unbooked.id].sort())
        const real = yield* orders.claimDue({ providers: [], limit: 9, lease: Duration.seconds(5) })
        expect(real).toEqual([])
        expect(due[0]?.payer).toEqual({ name: reseller.name, email: reseller.email })
        expect(due[0]?.providerState).toEqual({ baselineRaw: "0" })
      })
    )
  })
})
