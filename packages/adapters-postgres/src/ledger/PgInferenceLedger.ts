/**
 * Implements the inference ledger on Postgres. Requests share transactions through group commit queues.
 *
 * A node has one queue by default. If it has several, each has its own connection, so their transactions run
 * concurrently. Every user belongs to one queue, so the queues never wait for each other's accounts.
 */
import {
  type Admission,
  InferenceLedger,
  type LedgerLoad,
  type Settled,
  type SettlementRequest
} from "@tollgate/application/ledger/InferenceLedger"
import { WriteOffs } from "@tollgate/application/ledger/WriteOffs"
import { Nodes } from "@tollgate/application/operations/Nodes"
import { writeOffReason } from "@tollgate/domain/inference/WriteOff"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { PgSettings } from "../client/PgSettings.ts"
import { type ConnectionLimits, DedicatedConnection } from "./DedicatedConnection.ts"
import { GroupCommitQueue } from "./GroupCommitQueue.ts"
import { saveCheckpoints } from "./HoldRows.ts"
import { LedgerDriver } from "./LedgerDriver.ts"
import { LedgerTransactions } from "./LedgerTransactions.ts"
import { type LedgerTypes, ledgerWork } from "./LedgerWork.ts"
import { logged, type QueueEvent } from "./QueueEvent.ts"
import type { QueueLimits } from "./QueueLimits.ts"

export interface LedgerOptions extends QueueLimits, ConnectionLimits {
  /** Number of queues. Each queue has one database connection. */
  readonly queues: number
  /** Maximum time that a shutdown waits until all settlements are written. */
  readonly flushMillis: number
}

export const defaults: LedgerOptions = {
  // Fewer queues mean more requests per transaction, which costs Postgres and this process less per request.
  queues: 1,
  batchSize: 512,
  waitingAdmissions: 2_048,
  unsettled: 8_192,
  admissionMillis: 5_000,
  connectMillis: 3_000,
  transactionMillis: 4_000,
  // A lock wait between nodes that serve the same users takes a few milliseconds. A session that holds a row lock for
  // longer than this limit counts as stuck. Then only the requests of that row's user wait.
  lockMillis: 250,
  flushMillis: 10_000
}

interface Queue {
  readonly queue: GroupCommitQueue<LedgerTypes>
  readonly transactions: LedgerTransactions
}

export const make = (options: LedgerOptions = defaults) =>
  Effect.gen(function* () {
    const settings = yield* PgSettings
    const { self } = yield* Nodes
    const runtime = yield* Effect.runtime<never>()
    const log = logged("inference")
    const report = (event: QueueEvent) => void Runtime.runFork(runtime)(log(event))

    const queues = yield* Effect.forEach(Array.from({ length: options.queues }), () =>
      Effect.map(connection(settings, options), (own): Queue => {
        const transactions = new LedgerTransactions(self, own)
        const queue = new GroupCommitQueue<LedgerTypes>(
          ledgerWork,
          options,
          (work, onUnknownCommit, lockWait) => transactions.run(work, onUnknownCommit, lockWait),
          report
        )
        return { queue, transactions }
      })
    )
    yield* Effect.addFinalizer(() =>
      Effect.forEach(queues, closed(options), { concurrency: "unbounded", discard: true })
    )
    const queueOf = ({ principal: { userId } }: Admission): Queue => queues[shareOf(userId) % queues.length] as Queue

    const writeOffs = yield* WriteOffs
    /** Counts a committed settlement. A request that a sweep has settled is not counted here. */
    const count = ({ admission, route }: SettlementRequest, exit: Exit.Exit<Settled | undefined>): void => {
      const settled = exit._tag === "Success" ? exit.value : undefined
      if (settled === undefined) return
      const { measured, settlement } = settled
      const { price, protocol, streamed } = admission
      const { charge, durationMillis, ending, ttftMillis } = measured
      route?.settled({ streamed, price, ending, charge, settlement, ttftMillis, durationMillis })
      if (settlement.writeoffPico === 0n) return
      writeOffs.add(writeOffReason({ protocol, streamed, ending, source: charge.source }), settlement.writeoffPico)
    }

    const checkpoints = yield* connection(settings, options)
    const oneAtATime = yield* Effect.makeSemaphore(1)

    return InferenceLedger.of({
      admit: (admission, callback) => queueOf(admission).queue.admit(admission, callback),
      admitLater: (admission, callback) => queueOf(admission).queue.admitLater(admission, callback),
      admitNow: (admission) => queueOf(admission).queue.admitNow(admission),
      isAmple: (admission) => {
        const { queue, transactions } = queueOf(admission)
        return queue.isResponsive(admission.principal.userId) && transactions.isAmple(admission)
      },
      extend: (extension, callback) => queueOf(extension.admission).queue.extend(extension, callback),
      settle: (request, callback) =>
        queueOf(request.admission).queue.settle(request, (exit) => {
          count(request, exit)
          callback(exit)
        }),
      settleWithAdmission: (request, callback) =>
        queueOf(request.admission).queue.settleWithAdmission(request, (exit) => {
          count(request, exit)
          callback(exit)
        }),
      settleLater: (request, callback) =>
        queueOf(request.admission).queue.settleLater(request, (exit) => {
          count(request, exit)
          callback?.(exit)
        }),
      flush: Effect.suspend(() =>
        Effect.forEach(queues, ({ queue }) => flushed(queue), { concurrency: "unbounded", discard: true })
      ),
      checkpoint: (all) => oneAtATime.withPermits(1)(Effect.promise(() => saveCheckpoints(checkpoints, self, all))),
      load: () => queues.map(({ queue }) => queue.load).reduce(together)
    })
  })

export const layer = (options: Partial<LedgerOptions> = {}): Layer.Layer<InferenceLedger, never, PgSettings | Nodes> =>
  Layer.scoped(InferenceLedger, make({ ...defaults, ...options }))

const connection = (settings: PgSettings["Type"], limits: ConnectionLimits) =>
  Effect.acquireRelease(
    Effect.map(LedgerDriver, (driver) => new DedicatedConnection(settings, limits, driver)),
    (own) => Effect.sync(() => own.close())
  )

const together = (one: LedgerLoad, other: LedgerLoad): LedgerLoad => ({
  waitingAdmissions: one.waitingAdmissions + other.waitingAdmissions,
  unsettled: one.unsettled + other.unsettled,
  transactions: one.transactions + other.transactions,
  transactionMillis: one.transactionMillis + other.transactionMillis
})

/** The maximum wait of a reader. It is longer than `lockMillis`, by which a locked row can delay the transaction. */
const FLUSH_MILLIS = 500

const flushed = (queue: GroupCommitQueue<LedgerTypes>): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const cancel = queue.flush(() => resume(Effect.void))
    if (cancel === undefined) resume(Effect.void)
    else return Effect.sync(cancel)
  }).pipe(Effect.timeoutOption(FLUSH_MILLIS), Effect.asVoid)

/** Returns the number that selects the queue of a user. User ids end in random digits, so the users spread evenly. */
const shareOf = (userId: string): number =>
  userId.charCodeAt(userId.length - 1) * 31 + userId.charCodeAt(userId.length - 2)

const closed =
  ({ flushMillis }: LedgerOptions) =>
  ({ queue }: Queue) =>
    Effect.flatMap(
      Effect.promise(() => queue.close(flushMillis)),
      (left) =>
        left === 0
          ? Effect.void
          : Effect.logError(
              "the ledger stopped with unwritten settlements; a sweep will settle those with a hold at their checkpoints"
            ).pipe(Effect.annotateLogs({ left }))
    )
