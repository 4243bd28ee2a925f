/**
 * One request of a simulated client, with the provider that responds to it.
 *
 * The production use case `AdmittedRequest` runs unchanged. This class replaces the HTTP adapter: like `StreamAttempt`,
 * it writes content as far as the allowance permits it, and holds back the rest.
 */
import { AdmittedRequest, type Ports } from "@tollgate/application/inference/AdmittedRequest"
import type { Delivery } from "@tollgate/application/inference/Delivery"
import type { InferenceRequest, RelayConnection, Run } from "@tollgate/application/inference/RelayConnection"
import type { Attempt, FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type { Admission, Callback } from "@tollgate/application/ledger/InferenceLedger"
import { TrafficCounters } from "@tollgate/application/ledger/Traffic"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { RequestSize } from "@tollgate/domain/inference/Estimate"
import { Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { type ReportedUsage, unreported } from "@tollgate/domain/inference/ReportedUsage"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { Effect, Exit, Runtime } from "effect"
import { silentRuntime } from "./NodeRuntime.ts"
import type { Script } from "./Scenario.ts"
import type { SimulatedNode } from "./SimulatedNode.ts"
import type { Event, SimulatedTime } from "./SimulatedTime.ts"

/** The tokens of a text: one for every three characters. All characters have one byte. */
export const tokensOf = (characters: number): number => Math.ceil(characters / 3)
const counter = { count: (text: string) => Effect.succeed(Tokens.fromCount(tokensOf(text.length))) }
const EXTRA_PROMPT_TOKENS = 6
const countExit = Runtime.runSyncExit(silentRuntime)
/** The counters of all requests. No invariant reads them, and creating them for each request is slow. */
const traffic = new TrafficCounters()

/** The time for which a stream waits for an extension of its hold. Then the stream ends with an error. */
const STALL_MILLIS = 3_000
const TICK_MILLIS = 100
const ROUTE: ReadonlyArray<Candidate> = [{ provider: { name: "provider" } } as Candidate]
const STREAMED: Exit.Exit<Attempt> = Exit.succeed({ _tag: "Streamed" })

/** The checks use these calls, so they do not depend on the checked code. */
export interface Observer {
  /** Called when content was written to the client. */
  readonly onSent: (request: SimulatedRequest) => void
  /** Called when a whole response was written to the client. */
  readonly onWritten: (request: SimulatedRequest) => void
}

export class SimulatedRequest implements RelayConnection<InferenceRequest> {
  readonly requestId: Admission["requestId"]
  readonly protocol = "chat"
  readonly admission: Admission
  readonly script: Script
  readonly node: SimulatedNode
  readonly acceptedAtMillis: number
  onDisconnect: () => void = () => {}
  delivery: Delivery | undefined
  sentCharacters = 0
  acceptedCharacters = 0
  isOver = false
  isWritten = false
  outcome = "running"
  readonly #time: SimulatedTime
  readonly #observer: Observer
  #gone = false
  #aborted = false
  #chunks = 0
  #heldBackAt: number | undefined
  #callback: Callback<Attempt, FailedAttempt> | undefined
  #ticks: Event | undefined

  constructor(time: SimulatedTime, node: SimulatedNode, admission: Admission, script: Script, observer: Observer) {
    this.#time = time
    this.#observer = observer
    this.node = node
    this.admission = admission
    this.requestId = admission.requestId
    this.script = script
    this.acceptedAtMillis = performance.now()
  }

  get promptTokens(): number {
    return tokensOf(this.script.promptCharacters) + EXTRA_PROMPT_TOKENS
  }

  /** Returns the size of a request body. The body of an unusual prompt is half as long as its text would be. */
  static sizeOf({ isUnusualPrompt, maxOutputTokens, promptCharacters }: Script): RequestSize {
    const usual = promptCharacters + 3 * EXTRA_PROMPT_TOKENS
    return { textBytes: isUnusualPrompt ? Math.ceil(usual / 2) : usual, attachments: 0, maxOutputTokens, choices: 1 }
  }

  /** Begins the request. Must be called in an event of the node's process. */
  begin(ledger: Ports["ledger"]): void {
    const { promptCharacters, streamed } = this.script
    const size = SimulatedRequest.sizeOf(this.script)
    const promptText = () => ({ text: "p".repeat(promptCharacters), extraTokens: EXTRA_PROMPT_TOKENS })
    const request: InferenceRequest = { model: "m", streamed, size, promptText }
    const ports: Ports = {
      ledger,
      open: this.node.open,
      counter,
      traffic,
      run: this.#run
    }
    new AdmittedRequest(this, request, ROUTE, this.admission, ports, (exit) => this.#respond(exit)).admit()
    const { disconnectsAfterMillis } = this.script
    if (disconnectsAfterMillis !== undefined) this.#after(disconnectsAfterMillis, () => this.#disconnect())
  }

  readonly nowMillis = (): number => performance.now()
  readonly committed = (): boolean => this.sentCharacters > 0
  readonly gone = (): boolean => this.#gone
  readonly abort = (): void => {
    this.#aborted = true
  }

  readonly attempt = (
    _request: InferenceRequest,
    _route: Candidate,
    delivery: Delivery,
    callback: Callback<Attempt, FailedAttempt>
  ): void => {
    this.delivery = delivery
    this.#callback = callback
    if (delivery.allowance !== undefined) delivery.allowance.onChange = () => this.#allowanceChanged()
    const next = this.script.streamed ? () => this.#nextChunk() : () => this.#wholeResponse()
    this.#after(this.script.firstByteMillis, next)
  }

  /** Counts are sometimes ready immediately, and sometimes after other events. */
  readonly #run: Run = (effect, callback) => {
    const result = () => callback(countExit(effect))
    if (this.#time.random.chance(0.7)) result()
    else this.#after(this.#time.random.skewed(0.1, 20), result)
  }

  #after(millis: number, run: () => void): void {
    this.#time.after(millis, this.node.process, run)
  }

  #respond(exit: Exit.Exit<(() => void) | undefined, unknown>): void {
    this.isOver = true
    this.#aborted = true
    this.outcome = Exit.isSuccess(exit)
      ? "served"
      : exit.cause._tag === "Fail"
        ? tagOf(exit.cause.error)
        : exit.cause._tag
    if (Exit.isSuccess(exit) && exit.value !== undefined && !this.#gone) exit.value()
  }

  #disconnect(): void {
    if (this.isOver || this.#gone) return
    this.#gone = true
    this.#aborted = true
    this.onDisconnect()
  }

  #wholeResponse(): void {
    if (this.#aborted || this.delivery === undefined) return
    const { chunks, fails } = this.script
    const characters = chunks.reduce((sum, each) => sum + each, 0)
    if (fails) {
      this.#end(failure("upstream"))
      return
    }
    this.delivery.recordReported(this.reported)
    const write = () => {
      this.isWritten = true
      this.sentCharacters = characters
      this.acceptedCharacters = characters
      this.#observer.onWritten(this)
    }
    this.#end(Exit.succeed({ _tag: "Completed", content: () => "x".repeat(characters), write }))
  }

  #nextChunk(): void {
    if (this.#aborted || this.#heldBackAt !== undefined) return
    const { chunks, chunkMillis, fails } = this.script
    const content = chunks[this.#chunks]
    if (content === undefined) {
      if (fails || chunks.length === 0) this.#end(failure("upstream"))
      else this.#complete()
      return
    }
    if (!this.#relay(content)) {
      this.#heldBackAt = performance.now()
      if (this.delivery?.allowance?.refusal !== undefined) this.#allowanceChanged()
      else this.#tick()
      return
    }
    this.#after(chunkMillis * this.#time.random.next() * 2, () => this.#nextChunk())
  }

  #relay(characters: number): boolean {
    const { delivery } = this
    const content = "x".repeat(characters)
    if (delivery === undefined || delivery.allowance?.permits(content) === false) return false
    this.#chunks += 1
    delivery.recordSent(content)
    this.sentCharacters += characters
    this.#observer.onSent(this)
    if (this.script.reportsEarly) delivery.recordReported({ ...this.reported, output: Tokens.fromCount(this.#chunks) })
    this.#accept(() => {})
    return true
  }

  #accept(then: () => void): void {
    const { text } = this.delivery as Delivery
    const [characters, deltas] = [text.sentCharacters, text.sentDeltas]
    const accept = () => {
      if (characters > this.acceptedCharacters && !this.#gone) {
        this.acceptedCharacters = characters
        text.markDelivered(characters, deltas)
      }
      then()
    }
    if (this.#time.random.chance(this.script.slowSocket)) this.#after(this.#time.random.skewed(1, 400), accept)
    else accept()
  }

  #complete(): void {
    this.delivery?.recordReported(this.reported)
    this.#accept(() => {
      if (!this.#aborted && this.acceptedCharacters === this.sentCharacters) this.#end(STREAMED)
      else if (!this.#aborted) this.#after(50, () => this.#complete())
    })
  }

  /** Repeats an extension that the ledger could not decide, and ends a stream that waits for too long. */
  #tick(): void {
    if (this.#ticks !== undefined) return
    this.#ticks = this.#time.after(TICK_MILLIS, this.node.process, () => {
      this.#ticks = undefined
      if (this.#aborted || this.#heldBackAt === undefined) return
      if (performance.now() - this.#heldBackAt > STALL_MILLIS) this.#end(failure("undecided"))
      else {
        this.delivery?.allowance?.retry(performance.now())
        this.#tick()
      }
    })
  }

  #allowanceChanged(): void {
    if (this.#aborted || this.#heldBackAt === undefined) return
    const refusal = this.delivery?.allowance?.refusal
    if (refusal !== undefined) {
      this.#end(Exit.fail({ error: refusal, retryElsewhere: false }))
      return
    }
    const content = this.script.chunks[this.#chunks]
    if (content === undefined || !this.#relay(content)) return
    this.#heldBackAt = undefined
    this.#after(this.#time.random.next(), () => this.#nextChunk())
  }

  #end(exit: Exit.Exit<Attempt, FailedAttempt>): void {
    if (this.#aborted) return
    this.#aborted = true
    this.#callback?.(exit)
  }

  get reported(): ReportedUsage {
    const { reportedPrompt, reportedOutput } = this.script
    if (reportedPrompt === undefined && reportedOutput === undefined) return unreported
    return {
      prompt:
        reportedPrompt === undefined
          ? undefined
          : { ...TokenUsage.none, input: Tokens.fromCount(this.promptTokens + reportedPrompt) },
      output:
        reportedOutput === undefined
          ? undefined
          : Tokens.fromCount(tokensOf(this.script.chunks.reduce((sum, each) => sum + each, 0)) + reportedOutput)
    }
  }
}

const tagOf = (error: unknown): string => (error as { _tag: string })._tag

const failure = (cause: "upstream" | "undecided"): Exit.Exit<never, FailedAttempt> =>
  Exit.fail({
    error: cause === "upstream" ? new UpstreamFailed({ cause }) : new Overloaded({ retryAfterSeconds: 1 }),
    retryElsewhere: false
  })
