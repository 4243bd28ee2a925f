import { ConnectionLost } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import { NO_USERS } from "@tollgate/adapters-postgres/ledger/Batch"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { committed, committedExcept, controlledQueue, eventually, hold, settled } from "./ControlledQueue.ts"

describe("a deferred admission", () => {
  it("is settled in its own transaction if the response arrives within a few milliseconds", async () => {
    const { queue, transaction, transactions, admitLater, settleWithAdmission, results } = controlledQueue()
    admitLater("a")
    await new Promise((resolve) => setImmediate(resolve))
    expect(transactions).toEqual([])
    expect(queue.load.waitingAdmissions).toBe(1)
    expect(settleWithAdmission("a")).toEqual([true])
    const first = await transaction(0)
    expect(first.ids).toEqual(["admit and settle a"])
    expect(first.work.admissions[0]?.settlement?.request.measure()).toBe("a")
    expect(results).toEqual({})
    first.commit()
    await eventually(() => expect(results).toEqual({ "settle a": settled("a") }))
    expect(queue.load.waitingAdmissions).toBe(0)
    expect(transactions).toHaveLength(1)
  })

  it("creates a hold if no response arrives within a few milliseconds", async () => {
    const { transaction, admitLater, settleWithAdmission, results } = controlledQueue()
    admitLater("a")
    const first = await transaction(0)
    expect(first.ids).toEqual(["admit a"])
    expect(settleWithAdmission("a")).toEqual([false])
    first.commit()
    await eventually(() => expect(results).toEqual({ "admit a": hold("a") }))
  })

  it("does not join the transaction of another request before its time is over", async () => {
    const { transaction, admit, admitLater, settleWithAdmission } = controlledQueue()
    admitLater("a", "b")
    admit("c")
    expect(settleWithAdmission("b")).toEqual([true])
    expect((await transaction(0)).ids).toEqual(["admit c", "admit and settle b"])
    ;(await transaction(0)).commit()
    expect((await transaction(1)).ids).toEqual(["admit a"])
  })

  it("joins the next transaction when its deferral is ended", async () => {
    const { transaction, admitLater, admitNow, settleWithAdmission, results } = controlledQueue()
    admitLater("a", "b")
    admitNow("b")
    admitNow("b")
    const first = await transaction(0)
    expect(first.ids).toEqual(["admit b"])
    expect(settleWithAdmission("b")).toEqual([false])
    first.commit()
    expect((await transaction(1)).ids).toEqual(["admit a"])
    expect(results).toEqual({ "admit b": hold("b") })
  })

  it("counts for the limit of waiting admissions", async () => {
    const { admitLater, results } = controlledQueue()
    admitLater("a", "b", "c", "d", "e", "f", "too many")
    expect(results).toEqual({ "admit too many": "Overloaded" })
  })

  it("leads only to the refusal if the admission is refused", async () => {
    const { transaction, admitLater, settleWithAdmission, results } = controlledQueue()
    admitLater("poor")
    settleWithAdmission("poor")
    const first = await transaction(0)
    const refused = Either.left(new InsufficientBalance())
    first.end({ contended: NO_USERS, settled: [], extended: [], admitted: [refused] })
    await eventually(() => expect(results).toEqual({ "admit poor": "InsufficientBalance" }))
  })

  it("fails if the database rejects the row of its settlement", async () => {
    const { transaction, admitLater, settleWithAdmission, results, events } = controlledQueue()
    admitLater("a", "b")
    settleWithAdmission("a", "b")
    ;(await transaction(0)).fail(new Error("the row is rejected"))
    expect((await transaction(1)).ids).toEqual(["admit and settle a"])
    ;(await transaction(1)).fail(new Error("the row is rejected"))
    ;(await transaction(2)).commit()
    await eventually(() => expect(results).toEqual({ "admit a": "Die", "settle b": settled("b") }))
    expect(events).toMatchObject([{ _tag: "AdmissionRejected", admission: { requestId: "a" } }])
  })

  it("waits with the requests of its user while another session locks a row of the user", async () => {
    const { transaction, admit, admitLater, settleWithAdmission, results } = controlledQueue()
    admit("a1")
    const first = await transaction(0)
    admitLater("a2")
    first.end(committedExcept(first.work, "a"))
    await new Promise((resolve) => setImmediate(resolve))
    expect(settleWithAdmission("a2")).toEqual([true])
    const second = await transaction(1)
    expect(second).toMatchObject({ ids: ["admit a1", "admit and settle a2"], lockWait: "none" })
    second.commit()
    await eventually(() => expect(results).toEqual({ "admit a1": hold("a1"), "settle a2": settled("a2") }))
  })

  describe("with a settlement, at its deadline,", () => {
    it("is refused if no transaction has tried to write it", async () => {
      const { transaction, admit, admitLater, settleWithAdmission, results } = controlledQueue({ admissionMillis: 50 })
      admit("hanging")
      const hanging = await transaction(0)
      admitLater("a")
      settleWithAdmission("a")
      await eventually(() => expect(results).toEqual({ "admit hanging": "Overloaded", "admit a": "Overloaded" }))
      hanging.commit()
      expect((await transaction(1)).ids).toEqual(["settle hanging"])
    })

    it("is refused after a failed attempt that has written nothing", async () => {
      const { transactions, admitLater, settleWithAdmission, results } = controlledQueue({ admissionMillis: 50 })
      admitLater("a")
      settleWithAdmission("a")
      for (let nth = 0; results["admit a"] === undefined; ) {
        const begun = transactions[nth]
        begun?.fail(new ConnectionLost("gone"))
        nth += begun === undefined ? 0 : 1
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      expect(results).toEqual({ "admit a": "Overloaded" })
    })

    it("is refused after an attempt that ended after the deadline and has written nothing", async () => {
      const { transaction, transactions, admitLater, settleWithAdmission, results } = controlledQueue({
        admissionMillis: 50
      })
      admitLater("a")
      settleWithAdmission("a")
      const first = await transaction(0)
      await new Promise((resolve) => setTimeout(resolve, 120))
      expect(results).toEqual({})
      first.fail(new ConnectionLost("not connected"))
      await eventually(() => expect(results).toEqual({ "admit a": "Overloaded" }))
      expect(transactions).toHaveLength(1)
    })

    it("is not refused while a transaction may write it", async () => {
      const { transaction, admitLater, extend, settleWithAdmission, results } = controlledQueue({ admissionMillis: 50 })
      admitLater("a")
      settleWithAdmission("a")
      extend("b")
      const first = await transaction(0)
      await eventually(() => expect(results).toEqual({ "extend b": "Overloaded" }))
      await new Promise((resolve) => setTimeout(resolve, 30))
      first.commit()
      await eventually(() => expect(results).toEqual({ "extend b": "Overloaded", "settle a": settled("a") }))
    })

    it("is not refused if the outcome of its commit is unknown", async () => {
      const { transaction, admit, admitLater, settleWithAdmission, results } = controlledQueue({ admissionMillis: 50 })
      admitLater("a")
      settleWithAdmission("a")
      const first = await transaction(0)
      first.onUnknownCommit(committed(first.work))
      first.fail(new ConnectionLost("gone"))
      const second = await transaction(1)
      expect(second.work.admissions).toMatchObject([
        { maybeCommitted: true, settlement: { maybeCommitted: settled("a") } }
      ])
      admit("b")
      await eventually(() => expect(results).toEqual({ "admit b": "Overloaded" }))
      second.fail(new ConnectionLost("gone"))
      ;(await transaction(2)).commit()
      await eventually(() => expect(results).toEqual({ "admit b": "Overloaded", "settle a": settled("a") }))
    })
  })

  it("is refused when the queue closes", async () => {
    const { queue, transactions, admitLater, settleWithAdmission, results } = controlledQueue()
    admitLater("a", "b")
    settleWithAdmission("b")
    expect(await queue.close(1_000)).toBe(0)
    expect(results).toEqual({ "admit a": "Overloaded", "admit b": "Overloaded" })
    expect(settleWithAdmission("a")).toEqual([false])
    expect(transactions).toEqual([])
  })

  it("counts as unwritten if its transaction runs when the queue stops", async () => {
    const { queue, transaction, admitLater, settleWithAdmission, results } = controlledQueue()
    admitLater("a")
    settleWithAdmission("a")
    const first = await transaction(0)
    expect(await queue.close(20)).toBe(1)
    expect(results).toEqual({ "settle a": "Die" })
    first.commit()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(results).toEqual({ "settle a": "Die" })
  })
})
