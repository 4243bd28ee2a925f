import { ConnectionLost } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import type { Patience } from "@tollgate/adapters-postgres/ledger/DedicatedConnection"
import { GroupCommitQueue, type LaneLimits } from "@tollgate/adapters-postgres/ledger/GroupCommitQueue"
import { divided, type LedgerOutcome, type LedgerWork, NOBODY } from "@tollgate/adapters-postgres/ledger/LedgerWork"
import type { QueueEvent } from "@tollgate/adapters-postgres/ledger/QueueEvent"
import type { Admission, Settled, SettlementRequest } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { Either, Exit } from "effect"
import { describe, expect, it, vi } from "vitest"

const limits: LaneLimits = { batchSize: 4, waitingAdmissions: 6, unsettled: 5, admissionMillis: 60_000 }

/** A request "c1" is one of the user "c". */
const admission = (requestId: string) =>
  ({ requestId, principal: { userId: requestId.slice(0, 1) } }) as unknown as Admission
const settling = (requestId: string) =>
  ({ admission: admission(requestId), measure: () => requestId }) as unknown as SettlementRequest
const settled = (requestId: string) => ({ measured: requestId }) as unknown as Settled

const idsOf = ({ settlings, admissions }: LedgerWork) => [
  ...settlings.map(({ settling }) => `settle ${settling.admission.requestId}`),
  ...admissions.map(({ admission }) => `admit ${admission.requestId}`)
]

/** Everything is done as asked. */
const carriedOut = ({ settlings, admissions }: LedgerWork): LedgerOutcome => ({
  busy: NOBODY,
  settled: settlings.map(({ settling }) => settled(settling.admission.requestId)),
  admitted: admissions.map(() => Either.right("held"))
})

/** The same, but for users whose rows somebody else has. */
const carriedOutBut = (work: LedgerWork, ...users: ReadonlyArray<string>): LedgerOutcome => {
  const busy = new Set(users) as ReadonlySet<unknown> as ReadonlySet<UserId>
  return { ...carriedOut(divided(work, busy).others), busy }
}

interface Transaction {
  readonly ids: ReadonlyArray<string>
  readonly work: LedgerWork
  readonly doubt: (outcome: LedgerOutcome) => void
  readonly patience: Patience
  readonly end: (outcome: LedgerOutcome) => void
  readonly commit: () => void
  readonly fail: (error: unknown) => void
}

/** A lane whose transactions end when the test says so. */
const stage = (changes: Partial<LaneLimits> = {}) => {
  const transactions: Array<Transaction> = []
  const events: Array<QueueEvent> = []
  const lane = new GroupCommitQueue(
    { ...limits, ...changes },
    (work, doubt, patience) =>
      new Promise((end, fail) => {
        transactions.push({ ids: idsOf(work), work, doubt, patience, fail, end, commit: () => end(carriedOut(work)) })
      }),
    (event) => events.push(event)
  )
  const answers: Record<string, unknown> = {}
  const admit = (...ids: ReadonlyArray<string>) => {
    for (const id of ids) lane.admit(admission(id), (exit) => Object.assign(answers, { [`admit ${id}`]: shown(exit) }))
  }
  const settle = (...ids: ReadonlyArray<string>) => {
    for (const id of ids) lane.settle(settling(id), (exit) => Object.assign(answers, { [`settle ${id}`]: shown(exit) }))
  }
  const transaction = (n: number) =>
    eventually(() => {
      const found = transactions[n]
      if (found === undefined) throw new Error(`only ${transactions.length} transactions were begun`)
      return found
    })
  return { lane, transactions, transaction, events, answers, admit, settle }
}

const eventually = <A>(holds: () => A): Promise<A> => vi.waitFor(holds, { timeout: 5_000, interval: 2 })

const shown = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.match(exit, {
    onSuccess: (value) => value ?? "nothing",
    onFailure: (cause) => (cause._tag === "Fail" ? (cause.error as { _tag: string })._tag : cause._tag)
  })

describe("a lane", () => {
  it("starts at once when idle, and gathers while it is busy", async () => {
    const { transaction, admit, settle, answers } = stage()
    admit("a", "b")
    const first = await transaction(0)
    expect(first.ids).toEqual(["admit a", "admit b"])
    admit("c")
    settle("x")
    expect(answers).toEqual({})
    first.commit()
    const second = await transaction(1)
    expect(answers).toEqual({ "admit a": "nothing", "admit b": "nothing" })
    expect(second.ids).toEqual(["settle x", "admit c"])
    second.commit()
    await eventually(() => expect(answers).toMatchObject({ "settle x": settled("x"), "admit c": "nothing" }))
  })

  it("puts no more than its bound into a batch", async () => {
    const { transaction, admit } = stage()
    admit("a", "b", "c", "d", "e", "f")
    expect((await transaction(0)).ids).toHaveLength(4)
    ;(await transaction(0)).commit()
    expect((await transaction(1)).ids).toEqual(["admit e", "admit f"])
  })

  it("answers each with what its transaction decided", async () => {
    const { transaction, admit, settle, answers } = stage()
    admit("poor", "swept")
    settle("again")
    const first = await transaction(0)
    first.end({
      busy: NOBODY,
      settled: [undefined],
      admitted: [Either.left(new InsufficientBalance()), Either.right("gone")]
    })
    await eventually(() =>
      expect(answers).toEqual({
        "admit poor": "InsufficientBalance",
        "admit swept": "Overloaded",
        "settle again": "nothing"
      })
    )
  })

  it("refuses admissions beyond its queue, and takes them again when there is room", async () => {
    const { transaction, admit, answers } = stage()
    admit("a")
    const first = await transaction(0)
    admit("b", "c", "d", "e", "f", "g", "too many")
    expect(answers).toEqual({ "admit too many": "Overloaded" })
    first.commit()
    await transaction(1)
    admit("h")
    expect(answers["admit h"]).toBeUndefined()
  })

  it("never refuses a settlement, but admissions while too many wait", async () => {
    const { transaction, admit, settle, answers } = stage()
    settle("a")
    await transaction(0)
    settle("b", "c", "d", "e", "f", "g")
    admit("late")
    expect(answers).toEqual({ "admit late": "Overloaded" })
    for (const n of [0, 1, 2]) (await transaction(n)).commit()
    await eventually(() => expect(Object.values(answers)).toHaveLength(8))
    admit("welcome")
    expect((await transaction(3)).ids).toEqual(["admit welcome"])
  })

  it("answers an admission within its time though its transaction hangs, and gives the hold back that it made", async () => {
    const { transaction, admit, settle, answers } = stage({ admissionMillis: 50 })
    admit("slow")
    settle("patient")
    const hanging = await transaction(0)
    admit("queued")
    await eventually(() => expect(answers).toEqual({ "admit slow": "Overloaded", "admit queued": "Overloaded" }))
    hanging.commit()
    const next = await transaction(1)
    expect(next.ids).toEqual(["settle slow"])
    expect(next.work.settlings[0]?.settling.measure()).toMatchObject({ ending: "failed", charge: { source: "none" } })
    expect(answers).toMatchObject({ "admit slow": "Overloaded", "settle patient": settled("patient") })
  })

  it("tries again what met trouble, says so once it lasts, and says when it is over", async () => {
    const { transaction, admit, settle, events, answers } = stage()
    admit("a")
    settle("x")
    for (const n of [0, 1, 2]) (await transaction(n)).fail(new ConnectionLost("gone"))
    const fourth = await transaction(3)
    expect(fourth.ids).toEqual(["settle x", "admit a"])
    fourth.commit()
    await eventually(() => expect(answers).toEqual({ "admit a": "nothing", "settle x": settled("x") }))
    expect(events.map(({ _tag }) => _tag)).toEqual(["Troubled", "Recovered"])
  })

  it("tells the next attempt what the last one came to, when nobody knows whether it was committed", async () => {
    const { transaction, admit, settle } = stage()
    admit("a")
    settle("x")
    const first = await transaction(0)
    expect(first.work).toMatchObject({
      settlings: [{ maybeCommitted: undefined }],
      admissions: [{ maybeCommitted: false }]
    })
    first.doubt(carriedOut(first.work))
    first.fail(new ConnectionLost("gone"))
    expect((await transaction(1)).work).toMatchObject({
      settlings: [{ maybeCommitted: settled("x") }],
      admissions: [{ maybeCommitted: true }]
    })
  })

  it("does not repeat an admission that was refused meanwhile, but gives back what it may have held", async () => {
    const { transaction, admit, answers } = stage({ admissionMillis: 50 })
    admit("doubtful", "other")
    const first = await transaction(0)
    first.doubt({ busy: NOBODY, settled: [], admitted: [Either.right("held"), Either.left(new InsufficientBalance())] })
    await eventually(() => expect(answers).toEqual({ "admit doubtful": "Overloaded", "admit other": "Overloaded" }))
    first.fail(new ConnectionLost("gone"))
    expect((await transaction(1)).ids).toEqual(["settle doubtful"])
  })

  it("isolates the one row the database will not take", async () => {
    const { lane, transactions, admit, settle, answers, events } = stage({ batchSize: 64, unsettled: 64 })
    const requests = Array.from({ length: 50 }, (_, i) => `${i}`)
    settle(...requests)
    admit("a")
    let seen = 0
    await eventually(() => {
      for (const { ids, fail, commit } of transactions.slice(seen)) {
        seen++
        if (ids.includes("settle 13")) fail(new Error("poison"))
        else commit()
      }
      expect(Object.keys(answers)).toHaveLength(51)
    })
    expect(Object.keys(answers).filter((name) => answers[name] === "Die")).toEqual(["settle 13"])
    expect(events).toMatchObject([{ _tag: "SettlementRejected", admission: { requestId: "13" } }])
    expect(lane.unsettled).toBe(0)
  })

  describe("whose user's rows somebody else keeps", () => {
    it("does everybody else's work, and tries that user's by itself, in its order, until it is done", async () => {
      const { transaction, admit, settle, answers, events } = stage()
      settle("c1", "a1", "c2")
      admit("c3")
      const first = await transaction(0)
      settle("c4", "a2")
      first.end(carriedOutBut(first.work, "c"))
      const second = await transaction(1)
      expect(second).toMatchObject({ ids: ["settle a2"], patience: "some" })
      expect(answers).toEqual({ "settle a1": settled("a1") })
      settle("c5")
      second.commit()
      const third = await transaction(2)
      expect(third).toMatchObject({ ids: ["settle c1", "settle c2", "settle c4", "settle c5", "admit c3"] })
      expect(third.patience).toBe("none")
      admit("c6")
      third.end(carriedOutBut(third.work, "c"))
      const fourth = await transaction(3)
      expect(fourth.ids).toEqual([...third.ids, "admit c6"])
      settle("c7")
      fourth.commit()
      const fifth = await transaction(4)
      expect(fifth).toMatchObject({ ids: ["settle c7"], patience: "some" })
      fifth.commit()
      await eventually(() => expect(Object.keys(answers)).toHaveLength(9))
      expect(events).toEqual([{ _tag: "RowsKept", userIds: ["c"] }])
    })

    it("tries all such users in turn, however much there is to do for one of them", async () => {
      const { transaction, settle } = stage({ batchSize: 2, unsettled: 64 })
      settle("c1", "d1")
      settle("c2", "c3")
      const first = await transaction(0)
      first.end(carriedOutBut(first.work, "c", "d"))
      const second = await transaction(1)
      expect(second.ids).toEqual(["settle c1", "settle c2"])
      second.end(carriedOutBut(second.work, "c"))
      expect((await transaction(2)).ids).toEqual(["settle d1", "settle c1"])
    })

    it("refuses that user's admissions in their time, does not make them afterwards, and does not forget", async () => {
      const { transaction, transactions, admit, answers } = stage({ admissionMillis: 300 })
      admit("c1")
      const first = await transaction(0)
      first.end(carriedOutBut(first.work, "c"))
      const second = await transaction(1)
      await eventually(() => expect(answers).toEqual({ "admit c1": "Overloaded" }))
      second.end(carriedOutBut(second.work, "c"))
      admit("a1")
      ;(await transaction(2)).commit()
      await eventually(() => expect(answers).toMatchObject({ "admit a1": "nothing" }))
      admit("c2")
      expect(await transaction(3)).toMatchObject({ ids: ["admit c2"], patience: "none" })
      expect(transactions).toHaveLength(4)
    })

    it("still knows what an attempt in doubt had come to", async () => {
      const { transaction, admit, settle } = stage()
      admit("c1")
      settle("c2", "a1")
      const first = await transaction(0)
      first.doubt(carriedOut(first.work))
      first.fail(new ConnectionLost("gone"))
      const second = await transaction(1)
      second.doubt(carriedOutBut(second.work, "c"))
      second.end(carriedOutBut(second.work, "c"))
      expect((await transaction(2)).work).toMatchObject({
        settlings: [{ maybeCommitted: settled("c2") }],
        admissions: [{ maybeCommitted: true }]
      })
    })

    it("on closing tries on for as long as is given, and says how much is left", async () => {
      const { lane, transaction, admit, settle, answers } = stage()
      settle("c1")
      admit("c2")
      const first = await transaction(0)
      first.end(carriedOutBut(first.work, "c"))
      const closing = lane.close(5_000)
      const second = await transaction(1)
      expect(answers).toEqual({ "admit c2": "Overloaded" })
      expect(second.ids).toEqual(["settle c1"])
      second.commit()
      expect(await closing).toBe(0)
      expect(answers).toMatchObject({ "settle c1": settled("c1") })

      const other = stage()
      other.settle("c1")
      const before = await other.transaction(0)
      before.end(carriedOutBut(before.work, "c"))
      await other.transaction(1)
      expect(await other.lane.close(20)).toBe(1)
      expect(other.answers).toEqual({ "settle c1": "Die" })
    })
  })

  it("on closing refuses who waits, writes every settlement, and takes no admission any more", async () => {
    const { lane, transaction, admit, settle, answers } = stage()
    settle("x")
    const first = await transaction(0)
    admit("waiting")
    settle("y")
    const closing = lane.close(5_000)
    expect(answers).toEqual({ "admit waiting": "Overloaded" })
    first.commit()
    ;(await transaction(1)).commit()
    expect(await closing).toBe(0)
    expect(answers).toMatchObject({ "settle x": settled("x"), "settle y": settled("y") })
    admit("too late")
    settle("too late")
    expect(answers).toMatchObject({ "admit too late": "Overloaded", "settle too late": "Die" })
  })

  it("on closing gives up after a while, and says how much is left", async () => {
    const { lane, transaction, settle, answers } = stage()
    settle("x", "y")
    await transaction(0)
    expect(await lane.close(20)).toBe(2)
    expect(answers).toEqual({ "settle x": "Die", "settle y": "Die" })
  })
})

it("an overloaded lane says when to come back", () => {
  const { lane } = stage({ waitingAdmissions: 0 })
  const answers: Array<unknown> = []
  lane.admit(admission("a"), (exit) => answers.push(exit))
  expect(answers).toEqual([Exit.fail(new Overloaded({ retryAfterSeconds: 1 }))])
})
