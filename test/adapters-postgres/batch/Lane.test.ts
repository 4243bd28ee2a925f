import { ConnectionLost } from "@tollgate/adapters-postgres/batch/DatabaseTrouble"
import { Lane, type LaneEvent, type LaneLimits } from "@tollgate/adapters-postgres/batch/Lane"
import type { LedgerOutcome, LedgerWork } from "@tollgate/adapters-postgres/batch/LedgerWork"
import type { Admission, Settled, Settling } from "@tollgate/application/ports/InferenceLedger"
import { InsufficientBalance, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { Either, Exit } from "effect"
import { describe, expect, it, vi } from "vitest"

const limits: LaneLimits = { batchSize: 4, waitingAdmissions: 6, unsettled: 5, admissionMillis: 60_000 }

const admission = (requestId: string) => ({ requestId }) as unknown as Admission
const settling = (requestId: string) =>
  ({ admission: admission(requestId), measure: () => requestId }) as unknown as Settling
const settled = (requestId: string) => ({ measured: requestId }) as unknown as Settled

const idsOf = ({ settlings, admissions }: LedgerWork) => [
  ...settlings.map(({ settling }) => `settle ${settling.admission.requestId}`),
  ...admissions.map(({ admission }) => `admit ${admission.requestId}`)
]

/** Everything is done as asked. */
const carriedOut = ({ settlings, admissions }: LedgerWork): LedgerOutcome => ({
  settled: settlings.map(({ settling }) => settled(settling.admission.requestId)),
  admitted: admissions.map(() => Either.right("held"))
})

interface Transaction {
  readonly ids: ReadonlyArray<string>
  readonly work: LedgerWork
  readonly doubt: (outcome: LedgerOutcome) => void
  readonly end: (outcome: LedgerOutcome) => void
  readonly commit: () => void
  readonly fail: (error: unknown) => void
}

/** A lane whose transactions end when the test says so. */
const stage = (changes: Partial<LaneLimits> = {}) => {
  const transactions: Array<Transaction> = []
  const events: Array<LaneEvent> = []
  const lane = new Lane(
    { ...limits, ...changes },
    (work, doubt) =>
      new Promise((end, fail) => {
        transactions.push({ ids: idsOf(work), work, doubt, fail, end, commit: () => end(carriedOut(work)) })
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
    first.end({ settled: [undefined], admitted: [Either.left(new InsufficientBalance()), Either.right("gone")] })
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
    expect(first.work).toMatchObject({ settlings: [{ perhaps: undefined }], admissions: [{ perhaps: false }] })
    first.doubt(carriedOut(first.work))
    first.fail(new ConnectionLost("gone"))
    expect((await transaction(1)).work).toMatchObject({
      settlings: [{ perhaps: settled("x") }],
      admissions: [{ perhaps: true }]
    })
  })

  it("does not repeat an admission that was refused meanwhile, but gives back what it may have held", async () => {
    const { transaction, admit, answers } = stage({ admissionMillis: 50 })
    admit("doubtful", "other")
    const first = await transaction(0)
    first.doubt({ settled: [], admitted: [Either.right("held"), Either.left(new InsufficientBalance())] })
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
