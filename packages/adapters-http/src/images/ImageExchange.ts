/**
 * Sends one image request to a provider, and collects the response until its end or the first failure.
 *
 * A provider normally sends the response head only when the image is ready. Therefore the first-byte timeout of the
 * provider does not apply: the total timeout limits the wait for the head. The idle timeout begins when the head has
 * arrived.
 */
import type { FailedAttempt, RouteError } from "@tollgate/application/inference/RouteAttempts"
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
import { type BufferedResponse, ResponseBuffer } from "./ResponseBuffer.ts"

const REFUSAL_BYTES = 64 * 1024
/**
 * The maximum time in milliseconds for the body of a refusal. After this time, the bytes that have arrived are used.
 */
const REFUSAL_MILLIS = 5_000

/**
 * The provider's response, or the start of its refusal; or `TooLarge` if the response was larger than the buffer
 * allows.
 */
export type ExchangeResult =
  | { readonly _tag: "Response"; readonly response: BufferedResponse }
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
  /** The number of bytes that are already reserved for the response. */
  readonly #reservedBytes: number
  #exchange: UpstreamExchange | undefined
  #verdict: Verdict | undefined
  #phase: "waiting" | "collecting" | "refused" | "over" = "waiting"
  #head: UpstreamHead | undefined
  #response = new ResponseBuffer()
  readonly #refusal: Array<Buffer> = []
  #refusalBytes = 0
  #total: NodeJS.Timeout | undefined
  #idle: NodeJS.Timeout | undefined
  #idleMillis = 0
  #resume: (result: Effect.Effect<ExchangeResult, FailedAttempt<RouteError>>) => void = () => {}

  constructor(counters: RelayCounters, reservation: MemoryReservation, reservedBytes: number) {
    this.#counters = counters
    this.#reservation = reservation
    this.#reservedBytes = reservedBytes
  }

  get status(): number | undefined {
    return this.#head?.status
  }

  run(
    upstreams: Context.Tag.Service<Upstreams>,
    request: UpstreamRequest
  ): Effect.Effect<ExchangeResult, FailedAttempt<RouteError>> {
    return Effect.async((resume) => {
      this.#resume = resume
      const { totalMillis, idleMillis } = request.candidate.provider.timeouts
      this.#idleMillis = idleMillis
      const sent = upstreams.send(request, this)
      if (sent._tag === "Left") {
        this.#end(Effect.fail({ error: sent.left, retryElsewhere: true, unsent: true }))
        return
      }
      this.#counters.openExchanges += 1
      this.#exchange = sent.right
      if (this.#verdict !== undefined) this.#release(this.#verdict)
      else if (this.#phase !== "over") {
        // The provider may bill a request that timed out, so no other route is tried.
        this.#total = setTimeout(
          () => this.#broken(`no complete response within ${totalMillis} ms`, false),
          totalMillis
        )
      }
    })
  }

  /** Ends the exchange with a verdict on the provider. A second call does nothing. */
  close(verdict: Verdict): void {
    if (this.#verdict !== undefined) return
    this.#verdict = verdict
    this.#phase = "over"
    this.#response = new ResponseBuffer()
    this.#stopTimers()
    if (this.#exchange !== undefined) this.#release(verdict)
  }

  onHead(head: UpstreamHead): void {
    if (this.#phase !== "waiting") return
    this.#head = head
    const isGood = head.status >= 200 && head.status <= 299
    if (isGood && !READABLE.test(head.contentType)) {
      this.#broken(`the response has the content-type ${head.contentType}`, false)
      return
    }
    this.#phase = isGood ? "collecting" : "refused"
    const millis = isGood ? this.#idleMillis : Math.min(REFUSAL_MILLIS, this.#idleMillis)
    this.#idle = setTimeout(() => this.#silent(millis), millis)
  }

  onData(chunk: Buffer): boolean {
    if (this.#phase === "over" || this.#phase === "waiting") return true
    if (this.#phase === "refused") {
      this.#refusal.push(chunk)
      this.#refusalBytes += chunk.length
      if (this.#refusalBytes >= REFUSAL_BYTES) this.#refused()
      return true
    }
    this.#idle?.refresh()
    if (!this.#reservation.take(this.#unreservedBytes(chunk))) {
      this.#broken("the gateway does not have enough memory for the response", false, "undecided")
    } else if (!this.#response.append(chunk)) {
      this.#end(Effect.succeed({ _tag: "TooLarge" }))
    }
    return true
  }

  onEnd(): void {
    if (this.#phase === "refused") this.#refused()
    else if (this.#phase === "waiting") this.#broken("the provider closed the connection without a response", true)
    else if (this.#phase === "collecting") {
      this.#end(Effect.succeed({ _tag: "Response", response: this.#response.response }))
    }
  }

  onBroken(reason: string): void {
    if (this.#phase === "refused") this.#refused()
    else if (this.#phase !== "over") this.#broken(reason, this.#phase === "waiting")
  }

  #unreservedBytes(chunk: Buffer): number {
    const before = this.#response.bytes
    return Math.max(0, before + chunk.length - Math.max(before, this.#reservedBytes))
  }

  #silent(millis: number): void {
    if (this.#phase === "refused") this.#refused()
    else this.#broken(`no data received for ${millis} ms`, false)
  }

  #refused(): void {
    const { status, retryAfter } = this.#head as UpstreamHead
    const body = Buffer.concat(this.#refusal).subarray(0, REFUSAL_BYTES)
    this.#end(Effect.succeed({ _tag: "Refusal", status, retryAfter, body }))
  }

  #broken(reason: string, retryElsewhere: boolean, verdict: Verdict = "failed"): void {
    if (this.#phase === "over") return
    this.#end(Effect.fail({ error: new UpstreamFailed({ cause: reason }), retryElsewhere }))
    this.close(verdict)
  }

  /**
   * Completes `run` with the result and ignores further events. After a success, the caller of `run` judges the result
   * and closes the exchange with a verdict.
   */
  #end(result: Effect.Effect<ExchangeResult, FailedAttempt<RouteError>>): void {
    this.#phase = "over"
    this.#stopTimers()
    this.#resume(result)
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
