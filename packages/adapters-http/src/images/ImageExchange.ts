/**
 * One exchange with a supplier about an image: sent, and heard to its end, or to the first reason not to.
 *
 * The head comes when the image is made, so that the time to the first byte is that of the whole: it is bounded by the
 * provider's total, and silence counts from the head on.
 */
import type { FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type {
  UpstreamEvents,
  UpstreamExchange,
  UpstreamHead,
  UpstreamRequest,
  Upstreams,
  Verdict
} from "@tollgate/application/inference/Upstreams"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { MemoryReservation } from "../http/MemoryReservation.ts"
import type { RelayCounters } from "../inference/relay/RelayMetrics.ts"
import { AnswerMemory, type GatheredAnswer } from "./AnswerMemory.ts"

const REFUSAL_BYTES = 64 * 1024
/** The status already says what matters; a refusal whose text does not come is taken without it. */
const REFUSAL_MILLIS = 5_000

/** What a supplier said, as bytes. */
export type Heard =
  | { readonly _tag: "Answer"; readonly gathered: GatheredAnswer }
  | { readonly _tag: "TooLarge" }
  | {
      readonly _tag: "Refusal"
      readonly status: number
      readonly retryAfter: string | undefined
      readonly body: Buffer
    }

const READABLE = /^\s*(?:application\/(?:json|[\w.+-]+\+json)|text\/(?:plain|json))?\s*(?:;|$)/i

export class ImageExchange implements UpstreamEvents {
  readonly #counters: RelayCounters
  readonly #reservation: MemoryReservation
  /** Bytes of the answer that the request already has room for. */
  readonly #reservedBytes: number
  #exchange: UpstreamExchange | undefined
  #verdict: Verdict | undefined
  #phase: "waiting" | "collecting" | "refused" | "over" = "waiting"
  #head: UpstreamHead | undefined
  #answer = new AnswerMemory()
  readonly #refusal: Array<Buffer> = []
  #refusalBytes = 0
  #total: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined
  #idleMillis = 0
  #tell: (heard: Effect.Effect<Heard, FailedAttempt>) => void = () => {}

  constructor(counters: RelayCounters, reservation: MemoryReservation, reservedBytes: number) {
    this.#counters = counters
    this.#reservation = reservation
    this.#reservedBytes = reservedBytes
  }

  get status(): number | undefined {
    return this.#head?.status
  }

  hear(upstreams: Context.Tag.Service<Upstreams>, request: UpstreamRequest): Effect.Effect<Heard, FailedAttempt> {
    return Effect.async((resume) => {
      this.#tell = resume
      const { totalMillis, idleMillis } = request.candidate.provider.timeouts
      this.#idleMillis = idleMillis
      const sent = upstreams.send(request, this)
      if (sent._tag === "Left") {
        this.#over(Effect.fail({ error: sent.left, retryElsewhere: true, unsent: true }))
        return
      }
      this.#counters.openExchanges += 1
      this.#exchange = sent.right
      if (this.#verdict !== undefined) this.#release(this.#verdict)
      else if (this.#phase !== "over") {
        // What was asked and not answered in time may be billed to us, so no other route is asked as well.
        this.#total = setTimeout(() => this.#broken(`not done within ${totalMillis} ms`, false), totalMillis)
      }
    })
  }

  /** Only the first verdict counts. Whatever goes on ends now. */
  close(verdict: Verdict): void {
    if (this.#verdict !== undefined) return
    this.#verdict = verdict
    this.#phase = "over"
    this.#answer = new AnswerMemory()
    this.#stopTimers()
    if (this.#exchange !== undefined) this.#release(verdict)
  }

  onHead(head: UpstreamHead): void {
    if (this.#phase !== "waiting") return
    this.#head = head
    const isGood = head.status >= 200 && head.status <= 299
    if (isGood && !READABLE.test(head.contentType)) {
      this.#broken(`answered with ${head.contentType}`, false)
      return
    }
    this.#phase = isGood ? "collecting" : "refused"
    const millis = isGood ? this.#idleMillis : Math.min(REFUSAL_MILLIS, this.#idleMillis)
    this.#idle = setTimeout(() => this.#silent(millis), millis)
  }

  onData(piece: Buffer): boolean {
    if (this.#phase === "over" || this.#phase === "waiting") return true
    this.#idle?.refresh()
    if (this.#phase === "refused") {
      this.#refusal.push(piece)
      this.#refusalBytes += piece.length
      if (this.#refusalBytes >= REFUSAL_BYTES) this.#refused()
    } else if (!this.#reservation.take(this.#beyondReserve(piece))) {
      this.#broken("there was no memory for its answer", false, "undecided")
    } else if (!this.#answer.take(piece)) {
      this.#over(Effect.succeed({ _tag: "TooLarge" }))
    }
    return true
  }

  onEnd(): void {
    if (this.#phase === "refused") this.#refused()
    else if (this.#phase === "waiting") this.#broken("ended without an answer", true)
    else if (this.#phase === "collecting") {
      this.#over(Effect.succeed({ _tag: "Answer", gathered: this.#answer.gathered }))
    }
  }

  onBroken(reason: string): void {
    if (this.#phase === "refused") this.#refused()
    else if (this.#phase !== "over") this.#broken(reason, this.#phase === "waiting")
  }

  #beyondReserve(piece: Buffer): number {
    const before = this.#answer.bytes
    return Math.max(0, before + piece.length - Math.max(before, this.#reservedBytes))
  }

  #silent(millis: number): void {
    if (this.#phase === "refused") this.#refused()
    else this.#broken(`silent for ${millis} ms`, false)
  }

  #refused(): void {
    const { status, retryAfter } = this.#head as UpstreamHead
    const body = Buffer.concat(this.#refusal).subarray(0, REFUSAL_BYTES)
    this.#over(Effect.succeed({ _tag: "Refusal", status, retryAfter, body }))
  }

  #broken(reason: string, retryElsewhere: boolean, verdict: Verdict = "failed"): void {
    if (this.#phase === "over") return
    this.#over(Effect.fail({ error: new UpstreamFailed({ cause: reason }), retryElsewhere }))
    this.close(verdict)
  }

  /** Nothing more is listened to; what it says of the supplier is for whoever reads it. */
  #over(heard: Effect.Effect<Heard, FailedAttempt>): void {
    this.#phase = "over"
    this.#stopTimers()
    this.#tell(heard)
  }

  #stopTimers(): void {
    clearTimeout(this.#total)
    clearTimeout(this.#idle)
  }

  #release(verdict: Verdict): void {
    this.#counters.openExchanges -= 1
    this.#exchange?.close(verdict)
  }
}
