/**
 * Queues the image requests of one node. Each request begins in one transaction and finishes in another. One queue
 * begins requests and a second queue finishes them, so requests that wait to begin do not delay settlements.
 *
 * Both are group commit queues with a batch size of 1. The first queue refuses a caller whose deadline passes. The
 * request of this caller may have begun, because the commit was running or the connection was lost during the commit.
 * In these cases, the first queue releases the hold of the request, on the connection with which requests begin. A new
 * connection first terminates the session of the previous connection, so the outcome of the earlier commit is then
 * certain.
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import type { FinishedImage, ImageAdmission } from "@tollgate/application/images/ImageRequests"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import { outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { isLocked } from "../client/SqlErrorClass.ts"
import {
  type AdmissionResult,
  type Admitted,
  NO_USERS,
  type Outcome,
  type SettlementResult,
  userOf,
  type Work,
  type WorkKind
} from "../ledger/Batch.ts"
import type { DedicatedConnection, LockWait } from "../ledger/DedicatedConnection.ts"
import { GroupCommitQueue } from "../ledger/GroupCommitQueue.ts"
import { reap } from "../ledger/OrphanReaper.ts"
import type { QueueEvent } from "../ledger/QueueEvent.ts"
import type { RunTransaction } from "../ledger/QueueLimits.ts"
import { abandonExpired, begin, finish, type ImageTypes, type SettledImage } from "./ImageTransactions.ts"

export interface ImageQueueLimits {
  /**
   * Duration of the lease of a request. It is longer than a request can take, so a lease expires only if the node of
   * the request is dead or cannot write to the database.
   */
  readonly leaseSeconds: number
  /** Maximum number of requests that wait to begin. */
  readonly waiting: number
  /** Time after which a request that waits to begin is refused, even while the database is unavailable. */
  readonly beginMillis: number
}

export interface ImageConnections {
  readonly beginner: DedicatedConnection
  readonly finisher: DedicatedConnection
}

const REAPED_BATCH_SIZE = 100

/** Outcome of a request whose caller was refused before the request began, so nothing was sent to a provider. */
const NOT_SENT = outcomeOf({ _tag: "Failed", error: new Overloaded({ retryAfterSeconds: 1 }) }, false)

const imageWork: WorkKind<ImageTypes> = {
  admissionOf: ({ admission }) => admission,
  release: ({ admission }) => ({ admission, outcome: () => NOT_SENT, durationMillis: 0 })
}

type OnUnknownCommit = (outcome: Outcome<ImageTypes>) => void
type Queue = GroupCommitQueue<ImageTypes>

export class ImageQueue {
  readonly #nodeId: NodeId
  readonly #limits: ImageQueueLimits
  readonly #connections: ImageConnections
  readonly #begins: Queue
  readonly #finishes: Queue
  /** The reaper of expired requests and the second queue share one connection, so their transactions take turns. */
  readonly #finisherTurns = new Turns()

  constructor(
    nodeId: NodeId,
    limits: ImageQueueLimits,
    connections: ImageConnections,
    report: (event: QueueEvent) => void
  ) {
    this.#nodeId = nodeId
    this.#limits = limits
    this.#connections = connections
    const queue = (runTransaction: RunTransaction<ImageTypes>): Queue =>
      new GroupCommitQueue(
        imageWork,
        {
          batchSize: 1,
          waitingAdmissions: limits.waiting,
          unsettled: Number.POSITIVE_INFINITY,
          admissionMillis: limits.beginMillis
        },
        runTransaction,
        report
      )
    this.#begins = queue((work, onUnknownCommit, lockWait) =>
      this.#run(connections.beginner, work, onUnknownCommit, lockWait)
    )
    this.#finishes = queue((work, onUnknownCommit, lockWait) =>
      this.#finisherTurns.run(() => this.#run(connections.finisher, work, onUnknownCommit, lockWait))
    )
  }

  begin(image: ImageAdmission, callback: (result: AdmissionResult<ImageTypes>) => void): void {
    this.#begins.admit(image, callback)
  }

  finish(finished: FinishedImage, callback: (result: SettlementResult<ImageTypes>) => void): void {
    this.#finishes.settle(finished, callback)
  }

  /** Abandons requests with an expired lease. Does not wait for locks, so requests that finish are not delayed. */
  abandonExpired(onRejected: (requestIds: ReadonlyArray<RequestId>, error: unknown) => void): Promise<number> {
    return reap({
      maxBatchSize: REAPED_BATCH_SIZE,
      transact: (work) => this.#finisherTurns.run(() => this.#connections.finisher.transact(work, undefined, "none")),
      reapBatch: abandonExpired,
      onRejected
    })
  }

  /**
   * Refuses further requests, and waits up to `flushMillis` until the queued results are written. Returns the number of
   * results that were not written.
   */
  async close(flushMillis: number): Promise<number> {
    const unreleased = this.#begins.close(flushMillis)
    // Requests that finish in the current turn of the event loop are still accepted.
    await nextTurn()
    const unfinished = this.#finishes.close(flushMillis)
    return (await unreleased) + (await unfinished)
  }

  async #run(
    connection: DedicatedConnection,
    { admissions: [admission], settlements: [settlement] }: Work<ImageTypes>,
    onUnknownCommit: OnUnknownCommit,
    lockWait: LockWait
  ): Promise<Outcome<ImageTypes>> {
    try {
      if (settlement !== undefined) {
        const { maybeCommitted, request } = settlement
        const result = await connection.transact(
          (query) => finish(query, request, maybeCommitted),
          (result) => onUnknownCommit(settledAs(result)),
          lockWait
        )
        return settledAs(result)
      }
      if (admission === undefined) return NOTHING_DONE
      return admittedAs(await this.#begin(connection, admission.admission, onUnknownCommit, lockWait))
    } catch (error) {
      if (!isLocked(error)) throw error
      const entry = settlement ?? admission
      return entry === undefined ? NOTHING_DONE : { ...NOTHING_DONE, contended: new Set([userOf(imageWork, entry)]) }
    }
  }

  async #begin(
    connection: DedicatedConnection,
    image: ImageAdmission,
    onUnknownCommit: OnUnknownCommit,
    lockWait: LockWait
  ): Promise<Admitted<ImageTypes>> {
    for (;;) {
      const begun = await connection.transact(
        (query) => begin(query, image, this.#nodeId, this.#limits.leaseSeconds),
        (result) => {
          if (result !== "begin again") onUnknownCommit(admittedAs(result))
        },
        lockWait
      )
      if (begun !== "begin again") return begun
    }
  }
}

const NOTHING_DONE: Outcome<ImageTypes> = { contended: NO_USERS, settled: [], extended: [], admitted: [] }

const settledAs = (result: SettledImage | undefined): Outcome<ImageTypes> => ({ ...NOTHING_DONE, settled: [result] })

const admittedAs = (result: Admitted<ImageTypes>): Outcome<ImageTypes> => ({ ...NOTHING_DONE, admitted: [result] })

/** Runs tasks one after the other, in the order in which they were added. */
class Turns {
  #last: Promise<unknown> = Promise.resolve()

  run<A>(task: () => Promise<A>): Promise<A> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => undefined)
    return result
  }
}
