/**
 * The ledger of inference on Postgres: requests share transactions, each user's always the same lane's.
 *
 * Each lane has a connection of its own, so that several transactions can be under way, and yet no two of one process
 * ever wait for one account. Nothing per request here but an entry in a queue.
 */

import { type Admission, InferenceLedger, type LedgerLoad } from "@tollgate/application/ledger/InferenceLedger"
import { Nodes } from "@tollgate/application/operations/Nodes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { PgSettings } from "../client/PgSettings.ts"
import { type ConnectionLimits, DedicatedConnection } from "./DedicatedConnection.ts"
import { GroupCommitQueue, type LaneLimits } from "./GroupCommitQueue.ts"
import { saveCheckpoints } from "./HoldRows.ts"
import { LedgerTransactions } from "./LedgerTransactions.ts"
import { logged, type QueueEvent } from "./QueueEvent.ts"

export interface LedgerOptions extends LaneLimits, ConnectionLimits {
  /** Each has one connection to the database. */
  readonly lanes: number
  /** How long shutting down may wait for settlements. */
  readonly flushMillis: number
}

export const defaults: LedgerOptions = {
  // Fewer lanes make fuller transactions, which cost both sides less; while Postgres carries one out, this process
  // tells those of the one before.
  lanes: 1,
  batchSize: 512,
  waitingAdmissions: 2_048,
  unsettled: 8_192,
  admissionMillis: 5_000,
  connectMillis: 3_000,
  transactionMillis: 4_000,
  // Nodes that serve the same users wait for each other for a few milliseconds; who has a row for longer than this is
  // stuck, and only the users of that row shall wait.
  lockMillis: 250,
  flushMillis: 10_000
}

export const make = (options: LedgerOptions = defaults) =>
  Effect.gen(function* () {
    const settings = yield* PgSettings
    const { self } = yield* Nodes
    const runtime = yield* Effect.runtime<never>()
    const tell = (event: QueueEvent) => void Runtime.runFork(runtime)(logged(event))

    const lanes = yield* Effect.forEach(Array.from({ length: options.lanes }), () =>
      Effect.map(connection(settings, options), (own) => {
        const transactions = new LedgerTransactions(self, own)
        return new GroupCommitQueue(
          options,
          (work, doubt, patience) => transactions.carryOut(work, doubt, patience),
          tell
        )
      })
    )
    yield* Effect.addFinalizer(() =>
      Effect.forEach(lanes, closed(options), { concurrency: "unbounded", discard: true })
    )
    const laneOf = ({ principal: { userId } }: Admission): GroupCommitQueue =>
      lanes[shareOf(userId) % lanes.length] as GroupCommitQueue

    const checkpoints = yield* connection(settings, options)
    const oneAtATime = yield* Effect.makeSemaphore(1)

    return InferenceLedger.of({
      admit: (admission, answer) => laneOf(admission).admit(admission, answer),
      settle: (settling, answer) => laneOf(settling.admission).settle(settling, answer),
      settleLater: (settling) => laneOf(settling.admission).settle(settling),
      checkpoint: (all) => oneAtATime.withPermits(1)(Effect.promise(() => saveCheckpoints(checkpoints, self, all))),
      load: () => lanes.map(({ load }) => load).reduce(together)
    })
  })

export const layer = (options: Partial<LedgerOptions> = {}): Layer.Layer<InferenceLedger, never, PgSettings | Nodes> =>
  Layer.scoped(InferenceLedger, make({ ...defaults, ...options }))

const connection = (settings: PgSettings["Type"], limits: ConnectionLimits) =>
  Effect.acquireRelease(
    Effect.sync(() => new DedicatedConnection(settings, limits)),
    (own) => Effect.sync(() => own.close())
  )

const together = (one: LedgerLoad, other: LedgerLoad): LedgerLoad => ({
  waitingAdmissions: one.waitingAdmissions + other.waitingAdmissions,
  unsettled: one.unsettled + other.unsettled,
  transactions: one.transactions + other.transactions,
  transactionMillis: one.transactionMillis + other.transactionMillis
})

/** A number that spreads users evenly: their ids end in random digits. */
const shareOf = (userId: string): number =>
  userId.charCodeAt(userId.length - 1) * 31 + userId.charCodeAt(userId.length - 2)

const closed =
  ({ flushMillis }: LedgerOptions) =>
  (lane: GroupCommitQueue) =>
    Effect.flatMap(
      Effect.promise(() => lane.close(flushMillis)),
      (left) =>
        left === 0
          ? Effect.void
          : Effect.logError("stopped with settlements unwritten; their holds are swept at their checkpoints").pipe(
              Effect.annotateLogs({ left })
            )
    )
