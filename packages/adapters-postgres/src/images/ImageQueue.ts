/**
 * The image requests of one node, a transaction each: those that begin on one connection, those that end on another, so
 * that nobody who wants to begin keeps anybody from being settled.
 *
 * To begin is refused when too many wait or it takes too long; to finish never is, and is tried again until the database
 * is back. An answer that comes too late, or of which nobody knows whether it was committed, is taken back. Whoever
 * finds that somebody keeps a row of theirs lets the others go first.
 */
import type { FinishedImage, ImageAdmission } from "@tollgate/application/images/ImageRequests"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import { type ImageOutcome, outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Exit from "effect/Exit"
import { isLocked, isTransient } from "../client/SqlErrorClass.ts"
import { afterBackoff } from "../client/Transact.ts"
import type { DedicatedConnection, Patience } from "../ledger/DedicatedConnection.ts"
import { type Chunk, inChunks } from "../ledger/InChunks.ts"
import { abandon, type BeginRefusal, begin, finish } from "./ImageTransactions.ts"

export interface ImageLaneLimits {
  /** Longer than a request may take, so that it passes only when its node is gone. */
  readonly leaseSeconds: number
  /** Requests that may wait to begin. */
  readonly waiting: number
  /** Whoever wants to begin is answered within this time, whatever the database does. */
  readonly beginMillis: number
}

export type ImageBegun = Exit.Exit<void, BeginRefusal | Overloaded>

/** What a lane tells its operator. */
export type ImageLaneEvent =
  | { readonly _tag: "Troubled"; readonly error: unknown }
  | { readonly _tag: "Rejected"; readonly requestIds: ReadonlyArray<RequestId>; readonly error: unknown }

interface Waiting {
  readonly image: ImageAdmission
  /** An attempt may have begun it; nobody knows the outcome of its commit. */
  maybeCommitted: boolean
  /** Absent once it was answered. */
  answer: ((begun: ImageBegun) => void) | undefined
}

interface Finishing {
  readonly finished: FinishedImage
  /** What an attempt came to whose commit nobody knows the outcome of. */
  maybeCommitted: ImageOutcome | undefined
}

const OVERLOADED = new Overloaded({ retryAfterSeconds: 1 })
const ABANDONED_AT_ONCE = 100

/** Nobody heard that it had begun, so nothing was sent anywhere. */
const taken = outcomeOf({ _tag: "Failed", error: OVERLOADED }, false)

export class ImageQueue {
  readonly #nodeId: NodeId
  readonly #limits: ImageLaneLimits
  readonly #beginner: DedicatedConnection
  readonly #finisher: DedicatedConnection
  readonly #tell: (event: ImageLaneEvent) => void
  readonly #begins = new OneAtATime()
  readonly #finishes = new OneAtATime()
  /** Everything that waits for its turn, has it, or will come again. */
  readonly #underWay = new Set<Promise<unknown>>()
  #waiting = 0
  #unfinished = 0
  #open = true
  #stopped = false

  constructor(
    nodeId: NodeId,
    limits: ImageLaneLimits,
    connections: { readonly beginner: DedicatedConnection; readonly finisher: DedicatedConnection },
    tell: (event: ImageLaneEvent) => void
  ) {
    this.#nodeId = nodeId
    this.#limits = limits
    this.#beginner = connections.beginner
    this.#finisher = connections.finisher
    this.#tell = tell
  }

  begin(image: ImageAdmission, answer: (begun: ImageBegun) => void): void {
    if (!this.#open || this.#waiting >= this.#limits.waiting) {
      answer(Exit.fail(OVERLOADED))
      return
    }
    const waiting: Waiting = { image, maybeCommitted: false, answer }
    const late = setTimeout(() => reply(waiting, Exit.fail(OVERLOADED)), this.#limits.beginMillis)
    this.#waiting += 1
    void this.#inTurn(this.#begins, (patience) => this.#begin(waiting, patience)).finally(() => {
      clearTimeout(late)
      this.#waiting -= 1
    })
  }

  finish(finished: FinishedImage): Promise<ImageOutcome | undefined> {
    this.#unfinished += 1
    const finishing: Finishing = { finished, maybeCommitted: undefined }
    return this.#inTurn(this.#finishes, (patience) => this.#finish(this.#finisher, finishing, patience)).finally(() => {
      this.#unfinished -= 1
    })
  }

  abandon(): Promise<number> {
    // Whoever waits to be finished does not wait for what can be given up later as well.
    const giveUp: Chunk = (passedOver, atMost, locked) =>
      this.#finisher.transact((ask) => abandon(ask, passedOver, atMost, locked), undefined, "none")
    const passOver = (requestIds: ReadonlyArray<RequestId>, error: unknown) =>
      this.#tell({ _tag: "Rejected", requestIds, error })
    return this.#finishes.run(() => inChunks(ABANDONED_AT_ONCE, giveUp, passOver))
  }

  /** Begins nothing more and finishes what there is to finish, for as long as is given; how many are left over. */
  async close(flushMillis: number): Promise<number> {
    this.#open = false
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, flushMillis)
    })
    const idle = async () => {
      while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
    }
    await Promise.race([idle(), late])
    clearTimeout(timer)
    this.#stopped = true
    return this.#unfinished
  }

  async #begin(waiting: Waiting, patience: Patience): Promise<void> {
    for (let attempt = 0; !this.#stopped && stillWanted(waiting); attempt++) {
      if (!this.#open && !waiting.maybeCommitted) break
      try {
        const begun = await this.#beginner.transact(
          (ask) => begin(ask, waiting.image, this.#nodeId, this.#limits.leaseSeconds),
          (doubtful) => {
            if (doubtful._tag === "Right" && doubtful.right === "begun") waiting.maybeCommitted = true
          },
          patience
        )
        if (begun._tag === "Left") reply(waiting, Exit.fail(begun.left))
        else if (begun.right === "gave up") continue
        else if (begun.right === "gone") reply(waiting, Exit.fail(OVERLOADED))
        else if (!reply(waiting, Exit.void)) await this.#takeBack(waiting.image)
        return
      } catch (error) {
        if (isLocked(error)) throw error
        if (!isTransient(error)) {
          this.#tell({ _tag: "Rejected", requestIds: [waiting.image.admission.requestId], error })
          reply(waiting, Exit.die(error))
          return
        }
        await this.#afterTrouble(attempt, error)
      }
    }
    reply(waiting, Exit.fail(OVERLOADED))
  }

  /** On the connection that began it: what it has in doubt has come to its end before that does anything else. */
  async #takeBack({ admission }: ImageAdmission): Promise<void> {
    const finished = { admission, outcome: () => taken, durationMillis: 0 }
    const finishing: Finishing = { finished, maybeCommitted: undefined }
    const take = (patience: Patience) => this.#finish(this.#beginner, finishing, patience)
    await take("some").catch((error) => {
      if (isLocked(error)) void this.#inTurn(this.#begins, take).catch(() => undefined)
    })
  }

  async #finish(
    connection: DedicatedConnection,
    finishing: Finishing,
    patience: Patience
  ): Promise<ImageOutcome | undefined> {
    const { finished } = finishing
    for (let attempt = 0; !this.#stopped; attempt++) {
      try {
        return await connection.transact(
          (ask) => finish(ask, finished, finishing.maybeCommitted),
          (doubtful) => {
            finishing.maybeCommitted = doubtful
          },
          patience
        )
      } catch (error) {
        if (isLocked(error)) throw error
        if (!isTransient(error)) {
          this.#tell({ _tag: "Rejected", requestIds: [finished.admission.requestId], error })
          throw error
        }
        await this.#afterTrouble(attempt, error)
      }
    }
    throw new Error("the image requests stopped before this one was finished")
  }

  /** Whoever meets a lock that is kept goes to the end of the queue, and does not wait for it there again. */
  #inTurn<A>(queue: OneAtATime, task: (patience: Patience) => Promise<A>): Promise<A> {
    const inTurn = async (): Promise<A> => {
      for (let attempt = 0; ; attempt++) {
        try {
          return await queue.run(() => task(attempt === 0 ? "some" : "none"))
        } catch (error) {
          if (!isLocked(error)) throw error
          await this.#afterTrouble(attempt, error)
        }
      }
    }
    const underWay = inTurn().finally(() => this.#underWay.delete(underWay))
    this.#underWay.add(underWay)
    return underWay
  }

  async #afterTrouble(attempt: number, error: unknown): Promise<void> {
    if (attempt === 1) this.#tell({ _tag: "Troubled", error })
    await afterBackoff(attempt)
  }
}

const stillWanted = ({ answer, maybeCommitted }: Waiting): boolean => answer !== undefined || maybeCommitted

/** The first answer counts; whether this was it. */
const reply = (waiting: Waiting, begun: ImageBegun): boolean => {
  const { answer } = waiting
  waiting.answer = undefined
  answer?.(begun)
  return answer !== undefined
}

/** One task after the other, in the order in which they were given. */
class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()

  run<A>(task: () => Promise<A>): Promise<A> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => undefined)
    return result
  }
}
