/** A group commit queue whose transactions are ended by the test. */
import { NO_USERS, partition, SettledAtOnce } from "@tollgate/adapters-postgres/ledger/Batch"
import type { LockWait } from "@tollgate/adapters-postgres/ledger/DedicatedConnection"
import { GroupCommitQueue } from "@tollgate/adapters-postgres/ledger/GroupCommitQueue"
import {
  type LedgerOutcome,
  type LedgerTypes,
  type LedgerWork,
  ledgerWork
} from "@tollgate/adapters-postgres/ledger/LedgerWork"
import type { QueueEvent } from "@tollgate/adapters-postgres/ledger/QueueEvent"
import type { QueueLimits } from "@tollgate/adapters-postgres/ledger/QueueLimits"
import type { Admission, Extension, Settled, SettlementRequest } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import { Either, Exit } from "effect"
import { vi } from "vitest"

export const limits: QueueLimits = { batchSize: 4, waitingAdmissions: 6, unsettled: 5, admissionMillis: 60_000 }

/** The first letter of a request id is the id of its user: "c1" is a request of the user "c". */
export const admission = (requestId: string) =>
  ({ requestId, principal: { userId: requestId.slice(0, 1) } }) as unknown as Admission
export const settlement = (requestId: string) =>
  ({ admission: admission(requestId), measure: () => requestId }) as unknown as SettlementRequest
export const settled = (requestId: string) => ({ measured: requestId }) as unknown as Settled

export const extension = (requestId: string) => ({ admission: admission(requestId) }) as unknown as Extension
export const hold = (requestId: string) => `hold of ${requestId}` as unknown as Hold

export const idsOf = ({ settlements, extensions, admissions }: LedgerWork) => [
  ...settlements.map(({ request }) => `settle ${request.admission.requestId}`),
  ...extensions.map(({ request }) => `extend ${request.admission.requestId}`),
  ...admissions.map(({ admission, settlement }) => `admit${settlement ? " and settle" : ""} ${admission.requestId}`)
]

/** Returns the outcome of a transaction in which every request succeeds. */
export const committed = ({ settlements, extensions, admissions }: LedgerWork): LedgerOutcome => ({
  contended: NO_USERS,
  settled: settlements.map(({ request }) => settled(request.admission.requestId)),
  extended: extensions.map(({ request }) => hold(request.admission.requestId)),
  admitted: admissions.map(({ admission: { requestId }, settlement }) =>
    Either.right(settlement === undefined ? hold(requestId) : new SettledAtOnce(settled(requestId)))
  )
})

/** Returns the outcome of a transaction that skips these users, because another session has locked their rows. */
export const committedExcept = (work: LedgerWork, ...users: ReadonlyArray<string>): LedgerOutcome => {
  const contended = new Set(users) as ReadonlySet<unknown> as ReadonlySet<UserId>
  return { ...committed(partition(ledgerWork, work, contended).others), contended }
}

interface Transaction {
  readonly ids: ReadonlyArray<string>
  readonly work: LedgerWork
  readonly onUnknownCommit: (outcome: LedgerOutcome) => void
  readonly lockWait: LockWait
  readonly end: (outcome: LedgerOutcome) => void
  readonly commit: () => void
  readonly fail: (error: unknown) => void
}

/** Creates a queue. Its transactions are not executed; the test decides when and how each of them ends. */
export const controlledQueue = (changes: Partial<QueueLimits> = {}) => {
  const transactions: Array<Transaction> = []
  const events: Array<QueueEvent> = []
  const queue = new GroupCommitQueue<LedgerTypes>(
    ledgerWork,
    { ...limits, ...changes },
    (work, onUnknownCommit, lockWait) =>
      new Promise((end, fail) => {
        transactions.push({
          ids: idsOf(work),
          work,
          onUnknownCommit,
          lockWait,
          fail,
          end,
          commit: () => end(committed(work))
        })
      }),
    (event) => events.push(event)
  )
  const results: Record<string, unknown> = {}
  const admit = (...ids: ReadonlyArray<string>) => {
    for (const id of ids)
      queue.admit(admission(id), (exit) => Object.assign(results, { [`admit ${id}`]: resultOf(exit) }))
  }
  const deferred = new Map<string, Admission>()
  const admitLater = (...ids: ReadonlyArray<string>) => {
    for (const id of ids) {
      deferred.set(id, admission(id))
      queue.admitLater(deferred.get(id) as Admission, (exit) =>
        Object.assign(results, { [`admit ${id}`]: resultOf(exit) })
      )
    }
  }
  const admitNow = (id: string) => queue.admitNow(deferred.get(id) ?? admission(id))
  /** Returns whether each settlement was added to its admission. */
  const settleWithAdmission = (...ids: ReadonlyArray<string>) =>
    ids.map((id) =>
      queue.settleWithAdmission({ ...settlement(id), admission: deferred.get(id) ?? admission(id) }, (exit) =>
        Object.assign(results, { [`settle ${id}`]: resultOf(exit) })
      )
    )
  const extend = (...ids: ReadonlyArray<string>) => {
    for (const id of ids)
      queue.extend(extension(id), (exit) => Object.assign(results, { [`extend ${id}`]: resultOf(exit) }))
  }
  const settle = (...ids: ReadonlyArray<string>) => {
    for (const id of ids)
      queue.settle(settlement(id), (exit) => Object.assign(results, { [`settle ${id}`]: resultOf(exit) }))
  }
  const settleLater = (...ids: ReadonlyArray<string>) => {
    for (const id of ids)
      queue.settleLater(settlement(id), (exit) => Object.assign(results, { [`settle ${id}`]: resultOf(exit) }))
  }
  const transaction = (n: number) =>
    eventually(() => {
      const found = transactions[n]
      if (found === undefined) throw new Error(`the queue has begun only ${transactions.length} transactions`)
      return found
    })
  return {
    queue,
    transactions,
    transaction,
    events,
    results,
    admit,
    admitLater,
    admitNow,
    extend,
    settle,
    settleLater,
    settleWithAdmission
  }
}

export const eventually = <A>(holds: () => A): Promise<A> => vi.waitFor(holds, { timeout: 60_000, interval: 2 })

export const resultOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.match(exit, {
    onSuccess: (value) => value ?? "nothing",
    onFailure: (cause) => (cause._tag === "Fail" ? (cause.error as { _tag: string })._tag : cause._tag)
  })
