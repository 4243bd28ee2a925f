import { ConnectionLost } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import { NO_USERS } from "@tollgate/adapters-postgres/ledger/Batch"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { Either, Exit } from "effect"
import { describe, expect, it } from "vitest"
import {
  admission,
  committed,
  committedExcept,
  controlledQueue,
  eventually,
  extension,
  hold,
  settled,
  settlement
} from "./ControlledQueue.ts"

/** Returns an idle queue that has refused the only request of the contended user "a" at its deadline. */
const withoutRequestsOfContendedUser = async () => {
  const controlled = controlledQueue({ admissionMillis: 50 })
  const { queue, transactions, admit, results } = controlled
  admit("a1")
  for (let nth = 0; results["admit a1"] === undefined || queue.load.waitingAdmissions > 0; ) {
    const transaction = transactions[nth]
    transaction?.end(committedExcept(transaction.work, "a"))
    nth += transaction === undefined ? 0 : 1
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  expect(results).toEqual({ "admit a1": "Overloaded" })
  return controlled
}

describe("the group commit queue", () => {
  it("collects requests while a transaction runs", async () => {
    const { transaction, admit, settle, results } = controlledQueue()
    admit("a", "b")
    const first = await transaction(0)
    expect(first.ids).toEqual(["admit a", "admit b"])
    admit("c")
    settle("x")
    expect(results).toEqual({})
    first.commit()
    const second = await transaction(1)
    expect(results).toEqual({ "admit a": hold("a"), "admit b": hold("b") })
    expect(second.ids).toEqual(["settle x", "admit c"])
    second.commit()
    await eventually(() => expect(results).toMatchObject({ "settle x": settled("x"), "admit c": hold("c") }))
  })

  it("limits the size of a batch", async () => {
    const { transaction, admit } = controlledQueue()
    admit("a", "b", "c", "d", "e", "f")
    expect((await transaction(0)).ids).toHaveLength(4)
    ;(await transaction(0)).commit()
    expect((await transaction(1)).ids).toEqual(["admit e", "admit f"])
  })

  it("puts one request into a batch of size 1", async () => {
    const { transaction, admit, settle } = controlledQueue({ batchSize: 1 })
    admit("c1", "a1")
    settle("c2")
    const first = await transaction(0)
    expect(first.ids).toEqual(["settle c2"])
    first.end(committedExcept(first.work, "c"))
    const second = await transaction(1)
    expect(second.ids).toEqual(["admit a1"])
    second.commit()
    const third = await transaction(2)
    expect(third).toMatchObject({ ids: ["settle c2"], lockWait: "none" })
    third.commit()
    expect((await transaction(3)).ids).toEqual(["admit c1"])
  })

  it("passes the result of each request to its callback", async () => {
    const { transaction, admit, settle, results } = controlledQueue()
    admit("poor", "swept")
    settle("again")
    const first = await transaction(0)
    first.end({
      contended: NO_USERS,
      settled: [undefined],
      extended: [],
      admitted: [Either.left(new InsufficientBalance()), Either.right("gone")]
    })
    await eventually(() =>
      expect(results).toEqual({
        "admit poor": "InsufficientBalance",
        "admit swept": "Overloaded",
        "settle again": "nothing"
      })
    )
  })

  it("refuses admissions while it is full", async () => {
    const { transaction, admit, results } = controlledQueue()
    admit("a")
    const first = await transaction(0)
    admit("b", "c", "d", "e", "f", "g", "too many")
    expect(results).toEqual({ "admit too many": "Overloaded" })
    first.commit()
    await transaction(1)
    admit("h")
    expect(results["admit h"]).toBeUndefined()
  })

  it("accepts settlements while it refuses admissions", async () => {
    const { transaction, admit, settle, results } = controlledQueue()
    settle("a")
    await transaction(0)
    settle("b", "c", "d", "e", "f", "g")
    admit("late")
    expect(results).toEqual({ "admit late": "Overloaded" })
    for (const n of [0, 1, 2]) (await transaction(n)).commit()
    await eventually(() => expect(Object.values(results)).toHaveLength(8))
    admit("next")
    expect((await transaction(3)).ids).toEqual(["admit next"])
  })

  it("refuses an admission at its deadline while the transaction hangs", async () => {
    const { transaction, admit, settle, results } = controlledQueue({ admissionMillis: 50 })
    admit("slow")
    settle("x")
    const hanging = await transaction(0)
    admit("queued")
    await eventually(() => expect(results).toEqual({ "admit slow": "Overloaded", "admit queued": "Overloaded" }))
    hanging.commit()
    const next = await transaction(1)
    expect(next.ids).toEqual(["settle slow"])
    expect(next.work.settlements[0]?.request.measure()).toMatchObject({ ending: "failed", charge: { source: "none" } })
    expect(results).toMatchObject({ "admit slow": "Overloaded", "settle x": settled("x") })
  })

  it("retries after transient errors", async () => {
    const { transaction, admit, settle, events, results } = controlledQueue()
    admit("a")
    settle("x")
    for (const n of [0, 1, 2]) (await transaction(n)).fail(new ConnectionLost("gone"))
    const fourth = await transaction(3)
    expect(fourth.ids).toEqual(["settle x", "admit a"])
    fourth.commit()
    await eventually(() => expect(results).toEqual({ "admit a": hold("a"), "settle x": settled("x") }))
    expect(events.map(({ _tag }) => _tag)).toEqual(["DatabaseUnavailable", "DatabaseRecovered"])
  })

  it("retries an unknown commit with the results that apply if the commit succeeded", async () => {
    const { transaction, admit, settle } = controlledQueue()
    admit("a")
    settle("x")
    const first = await transaction(0)
    expect(first.work).toMatchObject({
      settlements: [{ maybeCommitted: undefined }],
      admissions: [{ maybeCommitted: false }]
    })
    first.onUnknownCommit(committed(first.work))
    first.fail(new ConnectionLost("gone"))
    expect((await transaction(1)).work).toMatchObject({
      settlements: [{ maybeCommitted: settled("x") }],
      admissions: [{ maybeCommitted: true }]
    })
  })

  it("releases a refused admission's hold after an unknown commit", async () => {
    const { transaction, admit, results } = controlledQueue({ admissionMillis: 50 })
    admit("uncertain", "other")
    const first = await transaction(0)
    first.onUnknownCommit({
      contended: NO_USERS,
      settled: [],
      extended: [],
      admitted: [Either.right(hold("uncertain")), Either.left(new InsufficientBalance())]
    })
    await eventually(() => expect(results).toEqual({ "admit uncertain": "Overloaded", "admit other": "Overloaded" }))
    first.fail(new ConnectionLost("gone"))
    expect((await transaction(1)).ids).toEqual(["settle uncertain"])
  })

  it("fails only the settlement that the database rejects", async () => {
    const { queue, transactions, admit, settle, results, events } = controlledQueue({ batchSize: 64, unsettled: 64 })
    const requests = Array.from({ length: 50 }, (_, i) => `${i}`)
    settle(...requests)
    admit("a")
    let seen = 0
    await eventually(() => {
      for (const { ids, fail, commit } of transactions.slice(seen)) {
        seen++
        if (ids.includes("settle 13")) fail(new Error("the row is rejected"))
        else commit()
      }
      expect(Object.keys(results)).toHaveLength(51)
    })
    expect(Object.keys(results).filter((name) => results[name] === "Die")).toEqual(["settle 13"])
    expect(events).toMatchObject([{ _tag: "SettlementRejected", admission: { requestId: "13" } }])
    expect(queue.unsettled).toBe(0)
  })

  it("lets a reader wait for the settlements of a running transaction", async () => {
    const { queue, transaction, settle } = controlledQueue()
    settle("x")
    const running = await transaction(0)
    let flushed = false
    queue.flush(() => (flushed = true))
    expect(flushed).toBe(false)
    running.commit()
    await eventually(() => expect(flushed).toBe(true))
  })

  it("lets no reader wait if no settlement is unwritten", () => {
    expect(controlledQueue().queue.flush(() => {})).toBeUndefined()
  })

  describe("with settlements that no client waits for", () => {
    it("writes such a settlement together with the next admission", async () => {
      const { transactions, transaction, admit, settleLater, results } = controlledQueue()
      settleLater("x")
      await new Promise(setImmediate)
      expect(transactions).toEqual([])
      admit("a")
      const shared = await transaction(0)
      expect(shared.ids).toEqual(["settle x", "admit a"])
      shared.commit()
      await eventually(() => expect(results).toEqual({ "settle x": settled("x"), "admit a": hold("a") }))
    })

    it("writes such settlements without another request if none arrives", async () => {
      const { transaction, settleLater, results } = controlledQueue()
      settleLater("x", "y")
      const only = await transaction(0)
      expect(only.ids).toEqual(["settle x", "settle y"])
      only.commit()
      await eventually(() => expect(results).toEqual({ "settle x": settled("x"), "settle y": settled("y") }))
    })

    it("writes a settlement that arrived during a transaction in a later transaction", async () => {
      const { transaction, admit, settleLater } = controlledQueue()
      admit("a")
      const first = await transaction(0)
      settleLater("x")
      first.commit()
      expect((await transaction(1)).ids).toEqual(["settle x"])
    })

    it("writes such a settlement immediately for a reader, who waits for it", async () => {
      const { queue, transactions, transaction, settleLater, results } = controlledQueue()
      settleLater("x", "y")
      let flushed = false
      queue.flush(() => (flushed = true))
      await new Promise(setImmediate)
      expect(transactions.map(({ ids }) => ids)).toEqual([["settle x", "settle y"]])
      expect(flushed).toBe(false)
      ;(await transaction(0)).commit()
      await eventually(() => expect(flushed).toBe(true))
      expect(results).toEqual({ "settle x": settled("x"), "settle y": settled("y") })
    })

    it("lets no reader wait for a customer with locked rows", async () => {
      const { queue, transaction, settleLater } = controlledQueue()
      settleLater("a1", "c1")
      let flushed = false
      queue.flush(() => (flushed = true))
      const first = await transaction(0)
      first.end(committedExcept(first.work, "c"))
      await transaction(1)
      expect(flushed).toBe(true)
    })

    it("lets no reader wait for settlements whose customer becomes contended", async () => {
      const { queue, transaction, settle, settleLater } = controlledQueue()
      settle("c1")
      const first = await transaction(0)
      settleLater("c2")
      let flushed = false
      queue.flush(() => (flushed = true))
      first.end(committedExcept(first.work, "c"))
      await eventually(() => expect(flushed).toBe(true))
    })

    it("lets a reader wait until every part of a bisected batch has ended", async () => {
      const { queue, transaction, settleLater, admit } = controlledQueue()
      settleLater("x")
      admit("a")
      ;(await transaction(0)).fail(new Error("the row is rejected"))
      ;(await transaction(1)).commit()
      const last = await transaction(2)
      let flushed = false
      queue.flush(() => (flushed = true))
      await new Promise(setImmediate)
      expect(flushed).toBe(false)
      last.commit()
      await eventually(() => expect(flushed).toBe(true))
    })

    it("calls no reader that has ceased to wait", async () => {
      const { queue, transaction, settleLater, results } = controlledQueue()
      settleLater("x")
      let flushed = false
      queue.flush(() => (flushed = true))?.()
      ;(await transaction(0)).commit()
      await eventually(() => expect(results).toEqual({ "settle x": settled("x") }))
      expect(flushed).toBe(false)
    })

    it("writes such a settlement when it closes", async () => {
      const { queue, transaction, settleLater } = controlledQueue()
      settleLater("x")
      const closed = queue.close(5_000)
      ;(await transaction(0)).commit()
      expect(await closed).toBe(0)
    })
  })

  describe("with extensions", () => {
    it("puts extensions into one batch with settlements and admissions", async () => {
      const { transaction, admit, extend, settle, results } = controlledQueue()
      admit("a1")
      extend("b1", "c1")
      settle("d1")
      const first = await transaction(0)
      expect(first.ids).toEqual(["settle d1", "extend b1", "extend c1", "admit a1"])
      first.end({ ...committed(first.work), extended: [hold("b1"), undefined] })
      await eventually(() => expect(results).toMatchObject({ "extend b1": hold("b1"), "extend c1": "nothing" }))
    })

    it("limits the extensions of a batch", async () => {
      const many = controlledQueue()
      many.extend("a1", "a2", "a3", "a4", "a5")
      expect((await many.transaction(0)).ids).toHaveLength(4)
      const single = controlledQueue({ batchSize: 1 })
      single.admit("a1")
      single.extend("a2", "a3")
      for (const [n, id] of ["extend a2", "extend a3", "admit a1"].entries()) {
        const next = await single.transaction(n)
        expect(next.ids).toEqual([id])
        next.commit()
      }
    })

    it("accepts extensions while it refuses admissions", async () => {
      const { transaction, admit, extend, settle, results } = controlledQueue()
      settle("a", "b", "c", "d", "e")
      admit("f1")
      extend("a1")
      await transaction(0)
      expect(results).toEqual({ "admit f1": "Overloaded" })
      extend("a2", "a3", "a4", "a5", "a6", "a7", "too many")
      expect(results).toEqual({ "admit f1": "Overloaded", "extend too many": "Overloaded" })
    })

    it("refuses an extension at its deadline", async () => {
      const { transaction, transactions, extend, settle, results } = controlledQueue({ admissionMillis: 50 })
      extend("slow")
      const hanging = await transaction(0)
      extend("queued")
      await eventually(() => expect(results).toEqual({ "extend slow": "Overloaded", "extend queued": "Overloaded" }))
      hanging.commit()
      settle("x")
      const next = await transaction(1)
      expect(next.ids).toEqual(["settle x"])
      next.commit()
      await eventually(() => expect(results).toMatchObject({ "settle x": settled("x") }))
      expect(transactions).toHaveLength(2)
      expect(results["extend slow"]).toBe("Overloaded")
    })

    it("decides an extension again after an unknown commit", async () => {
      const { transaction, extend, settle, results } = controlledQueue({ admissionMillis: 300 })
      extend("a1")
      const first = await transaction(0)
      first.onUnknownCommit(committed(first.work))
      first.fail(new ConnectionLost("gone"))
      const second = await transaction(1)
      expect(second.ids).toEqual(["extend a1"])
      await eventually(() => expect(results).toEqual({ "extend a1": "Overloaded" }))
      second.onUnknownCommit(committed(second.work))
      settle("a1")
      second.fail(new ConnectionLost("gone"))
      expect((await transaction(2)).ids).toEqual(["settle a1"])
    })

    it("fails only the extension that the database rejects", async () => {
      const { transaction, admit, extend, settle, results, events } = controlledQueue()
      settle("a1")
      extend("b1", "b2")
      admit("c1")
      ;(await transaction(0)).fail(new Error("the row is rejected"))
      for (const n of [1, 2, 3, 4, 5]) {
        const { ids, fail, commit } = await transaction(n)
        if (ids.includes("extend b2")) fail(new Error("the row is rejected"))
        else commit()
      }
      await eventually(() => expect(Object.values(results)).toHaveLength(4))
      expect(results).toEqual({
        "settle a1": settled("a1"),
        "extend b1": hold("b1"),
        "extend b2": "Die",
        "admit c1": hold("c1")
      })
      expect(events).toMatchObject([{ _tag: "ExtensionRejected", admission: { requestId: "b2" } }])
    })

    it("retries the extensions of a contended user separately", async () => {
      const { transaction, extend, settle, results } = controlledQueue({ admissionMillis: 5_000 })
      extend("c1", "a1")
      const first = await transaction(0)
      first.end(committedExcept(first.work, "c"))
      extend("c2")
      const second = await transaction(1)
      expect(second).toMatchObject({ ids: ["extend c1", "extend c2"], lockWait: "none" })
      expect(results).toEqual({ "extend a1": hold("a1") })
      extend("c3")
      second.commit()
      const third = await transaction(2)
      expect(third).toMatchObject({ ids: ["extend c3"], lockWait: "bounded" })
      third.commit()
      settle("c1")
      expect((await transaction(3)).lockWait).toBe("bounded")
      expect(results).toMatchObject({ "extend c1": hold("c1"), "extend c2": hold("c2"), "extend c3": hold("c3") })
    })

    it("refuses waiting and new extensions when it closes", async () => {
      const { queue, transaction, extend, results } = controlledQueue()
      extend("c1")
      const first = await transaction(0)
      first.end(committedExcept(first.work, "c"))
      await transaction(1)
      extend("a1", "c2")
      void queue.close(20)
      expect(results).toMatchObject({ "extend a1": "Overloaded", "extend c2": "Overloaded" })
      extend("a2")
      expect(results).toMatchObject({ "extend a2": "Overloaded" })
    })
  })

  describe("is responsive", () => {
    const user = (id: string) => admission(id).principal.userId

    it("while a transaction runs", async () => {
      const { queue, transaction, admit } = controlledQueue()
      expect(queue.isResponsive(user("a"))).toBe(true)
      admit("a1")
      await transaction(0)
      expect(queue.isResponsive(user("a"))).toBe(true)
    })

    it("again after a slow transaction", async () => {
      const { queue, transaction, admit } = controlledQueue()
      admit("a1")
      const slow = await transaction(0)
      await eventually(() => expect(queue.isResponsive(user("a"))).toBe(false))
      slow.commit()
      await eventually(() => expect(queue.isResponsive(user("a"))).toBe(true))
    })

    it("again after a failed attempt was retried", async () => {
      const { queue, transaction, admit } = controlledQueue()
      admit("a1")
      ;(await transaction(0)).fail(new ConnectionLost("gone"))
      await eventually(() => expect(queue.isResponsive(user("a"))).toBe(false))
      ;(await transaction(1)).commit()
      await eventually(() => expect(queue.isResponsive(user("a"))).toBe(true))
    })

    it("only for users that are not contended", async () => {
      const { queue, transaction, admit } = controlledQueue()
      admit("c1")
      const first = await transaction(0)
      first.end(committedExcept(first.work, "c"))
      const second = await transaction(1)
      expect(["a", "c"].map((id) => queue.isResponsive(user(id)))).toEqual([true, false])
      second.commit()
      await eventually(() => expect(queue.isResponsive(user("c"))).toBe(true))
    })

    it("only while it accepts admissions", async () => {
      const admissions = controlledQueue({ waitingAdmissions: 1 })
      admissions.admit("a1")
      await admissions.transaction(0)
      expect(admissions.queue.isResponsive(user("a"))).toBe(true)
      admissions.admit("a2")
      expect(admissions.queue.isResponsive(user("a"))).toBe(false)
      const settlements = controlledQueue({ unsettled: 1 })
      settlements.settle("a1")
      expect(settlements.queue.isResponsive(user("a"))).toBe(false)
      const closed = controlledQueue()
      void closed.queue.close(0)
      expect(closed.queue.isResponsive(user("a"))).toBe(false)
    })
  })

  describe("with contended users", () => {
    it("serves other users", async () => {
      const { transaction, admit, settle, results, events } = controlledQueue()
      settle("c1", "a1", "c2")
      admit("c3")
      const first = await transaction(0)
      settle("c4", "a2")
      first.end(committedExcept(first.work, "c"))
      const second = await transaction(1)
      expect(second).toMatchObject({ ids: ["settle a2"], lockWait: "bounded" })
      expect(results).toEqual({ "settle a1": settled("a1") })
      settle("c5")
      second.commit()
      const third = await transaction(2)
      expect(third).toMatchObject({ ids: ["settle c1", "settle c2", "settle c4", "settle c5", "admit c3"] })
      expect(third.lockWait).toBe("none")
      admit("c6")
      third.end(committedExcept(third.work, "c"))
      const fourth = await transaction(3)
      expect(fourth.ids).toEqual([...third.ids, "admit c6"])
      settle("c7")
      fourth.commit()
      const fifth = await transaction(4)
      expect(fifth).toMatchObject({ ids: ["settle c7"], lockWait: "bounded" })
      fifth.commit()
      await eventually(() => expect(Object.keys(results)).toHaveLength(9))
      expect(events).toEqual([{ _tag: "RowsLocked", userIds: ["c"] }])
    })

    it("retries two contended users in turn", async () => {
      const { transaction, settle } = controlledQueue({ batchSize: 2, unsettled: 64 })
      settle("c1", "d1")
      settle("c2", "c3")
      const first = await transaction(0)
      first.end(committedExcept(first.work, "c", "d"))
      const second = await transaction(1)
      expect(second.ids).toEqual(["settle c1", "settle c2"])
      second.end(committedExcept(second.work, "c"))
      expect((await transaction(2)).ids).toEqual(["settle d1", "settle c1"])
    })

    it("refuses admissions at their deadline", async () => {
      const { transaction, transactions, admit, results } = controlledQueue({ admissionMillis: 300 })
      admit("c1")
      const first = await transaction(0)
      first.end(committedExcept(first.work, "c"))
      const second = await transaction(1)
      await eventually(() => expect(results).toEqual({ "admit c1": "Overloaded" }))
      second.end(committedExcept(second.work, "c"))
      admit("a1")
      ;(await transaction(2)).commit()
      await eventually(() => expect(results).toMatchObject({ "admit a1": hold("a1") }))
      admit("c2")
      expect(await transaction(3)).toMatchObject({ ids: ["admit c2"], lockWait: "none" })
      expect(transactions).toHaveLength(4)
    })

    it("writes a later settlement of a user whose only request was refused", async () => {
      const { transaction, transactions, settleLater, results } = await withoutRequestsOfContendedUser()
      const next = transactions.length
      settleLater("a2")
      const written = await transaction(next)
      expect(written.ids).toEqual(["settle a2"])
      written.commit()
      await eventually(() => expect(results).toMatchObject({ "settle a2": settled("a2") }))
    })

    it("writes, when it closes, a settlement of a user whose only request was refused", async () => {
      const { queue, transaction, transactions, settleLater } = await withoutRequestsOfContendedUser()
      const next = transactions.length
      settleLater("a2")
      const closed = queue.close(5_000)
      ;(await transaction(next)).commit()
      expect(await closed).toBe(0)
    })

    it("keeps the results that apply if an unknown commit succeeded", async () => {
      const { transaction, admit, settle } = controlledQueue()
      admit("c1")
      settle("c2", "a1")
      const first = await transaction(0)
      first.onUnknownCommit(committed(first.work))
      first.fail(new ConnectionLost("gone"))
      const second = await transaction(1)
      second.onUnknownCommit(committedExcept(second.work, "c"))
      second.end(committedExcept(second.work, "c"))
      expect((await transaction(2)).work).toMatchObject({
        settlements: [{ maybeCommitted: settled("c2") }],
        admissions: [{ maybeCommitted: true }]
      })
    })

    describe("releases the hold of a refused admission after an unknown commit", () => {
      /** Returns a queue in which the refused admission "c1" waits behind a running settlement of the same user. */
      const refusedBehindSettlement = async () => {
        const controlled = controlledQueue({ batchSize: 1, admissionMillis: 1_000 })
        const { queue, transaction, admit, settle, results } = controlled
        admit("c1")
        const first = await transaction(0)
        settle("c2", "c3")
        first.onUnknownCommit(committed(first.work))
        first.fail(new ConnectionLost("gone"))
        const second = await transaction(1)
        second.end(committedExcept(second.work, "c"))
        const third = await transaction(2)
        expect(third).toMatchObject({ ids: ["settle c2"], lockWait: "none" })
        await eventually(() => expect(results).toEqual({ "admit c1": "Overloaded" }))
        third.commit()
        const running = await transaction(3)
        expect(running).toMatchObject({ ids: ["settle c3"], lockWait: "bounded" })
        expect(queue.load.waitingAdmissions).toBe(1)
        return { ...controlled, running }
      }

      it("although a later admission is refused before", async () => {
        const { transaction, admit, results, running } = await refusedBehindSettlement()
        admit("a1")
        await eventually(() => expect(results).toMatchObject({ "admit a1": "Overloaded" }))
        running.commit()
        expect((await transaction(4)).ids).toEqual(["settle c1"])
      })

      it("although the queue closes before", async () => {
        const { queue, transaction, running } = await refusedBehindSettlement()
        const closing = queue.close(5_000)
        running.commit()
        const released = await transaction(4)
        expect(released.ids).toEqual(["settle c1"])
        released.commit()
        expect(await closing).toBe(0)
      })
    })

    it("retries settlements while it closes", async () => {
      const { queue, transaction, admit, settle, results } = controlledQueue()
      settle("c1")
      admit("c2")
      const first = await transaction(0)
      first.end(committedExcept(first.work, "c"))
      const closing = queue.close(5_000)
      const second = await transaction(1)
      expect(results).toEqual({ "admit c2": "Overloaded" })
      expect(second.ids).toEqual(["settle c1"])
      second.commit()
      expect(await closing).toBe(0)
      expect(results).toMatchObject({ "settle c1": settled("c1") })

      const other = controlledQueue()
      other.settle("c1")
      const before = await other.transaction(0)
      before.end(committedExcept(before.work, "c"))
      await other.transaction(1)
      expect(await other.queue.close(20)).toBe(1)
      expect(other.results).toEqual({ "settle c1": "Die" })
    })
  })

  it("reports an exception in a callback, and gives the other requests their results", async () => {
    const { queue, transaction, admit, extend, settle, results, events } = controlledQueue()
    const fault = new Error("a fault")
    const fail = () => {
      throw fault
    }
    queue.settle(settlement("x1"), fail)
    queue.extend(extension("x2"), fail)
    queue.admit(admission("x3"), fail)
    settle("y1")
    extend("y2")
    admit("y3")
    ;(await transaction(0)).commit()
    settle("z")
    ;(await transaction(1)).commit()
    await eventually(() => expect(results).toMatchObject({ "settle z": settled("z") }))
    expect(Object.keys(results)).toEqual(["settle y1", "extend y2", "admit y3", "settle z"])
    const failed = (id: string) => ({ _tag: "CallbackFailed", admission: admission(id), error: fault })
    expect(events).toEqual([failed("x1"), failed("x2"), failed("x3")])
  })

  it("writes the waiting settlements when it closes", async () => {
    const { queue, transaction, admit, settle, results } = controlledQueue()
    settle("x")
    const first = await transaction(0)
    admit("waiting")
    settle("y")
    const closing = queue.close(5_000)
    expect(results).toEqual({ "admit waiting": "Overloaded" })
    first.commit()
    ;(await transaction(1)).commit()
    expect(await closing).toBe(0)
    expect(results).toMatchObject({ "settle x": settled("x"), "settle y": settled("y") })
    admit("too late")
    settle("too late")
    expect(results).toMatchObject({ "admit too late": "Overloaded", "settle too late": "Die" })
  })

  it("returns the number of unwritten settlements at the flush timeout", async () => {
    const { queue, transaction, settle, results } = controlledQueue()
    settle("x", "y")
    await transaction(0)
    expect(await queue.close(20)).toBe(2)
    expect(results).toEqual({ "settle x": "Die", "settle y": "Die" })
  })

  it("gives a settlement one result if its transaction is committed after the flush timeout", async () => {
    const { queue, transaction } = controlledQueue()
    const results: Array<string> = []
    queue.settle(settlement("x"), ({ _tag }) => results.push(_tag))
    const { commit } = await transaction(0)
    expect(await queue.close(20)).toBe(1)
    commit()
    await new Promise(setImmediate)
    expect(results).toEqual(["Failure"])
  })

  it("counts only the unwritten half of a bisected batch at the flush timeout", async () => {
    const { queue, transaction, settle } = controlledQueue()
    const results: Array<string> = []
    queue.settle(settlement("x"), ({ _tag }) => results.push(_tag))
    settle("y")
    ;(await transaction(0)).fail(new Error("the database rejects a row"))
    ;(await transaction(1)).commit()
    expect((await transaction(2)).ids).toEqual(["settle y"])
    expect(await queue.close(20)).toBe(1)
    expect(results).toEqual(["Success"])
  })
})

it("an overloaded queue refuses an admission with a retry delay of one second", () => {
  const { queue } = controlledQueue({ waitingAdmissions: 0 })
  const results: Array<unknown> = []
  queue.admit(admission("a"), (exit) => results.push(exit))
  expect(results).toEqual([Exit.fail(new Overloaded({ retryAfterSeconds: 1 }))])
})
