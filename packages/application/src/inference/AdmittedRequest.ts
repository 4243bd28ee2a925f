/**
 * Handles one relayed request, from its admission to its settlement. `RelayRequest` creates the object.
 *
 *     admitting ─▶ trying ─▶ settling ─▶ over
 *
 * The phase "trying" can begin before the hold is durable. The phase "settling" begins only when the hold is durable,
 * or when the settlement joins a deferred admission. A refused admission leads to "over" from every phase, and a prompt
 * that the hold does not cover leads to "settling" from "admitting" or "trying".
 */
import type { Callable } from "@tollgate/domain/catalog/Catalog"
import { type Ending, type LocalCounts, needsLocalCount, type Outcome } from "@tollgate/domain/inference/Charge"
import { type ModelNotFound, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import type {
  Admission,
  AdmissionRefusal,
  Callback,
  InferenceLedger,
  SettlementCallback,
  SettlementRequest
} from "../ledger/InferenceLedger.ts"
import type { TrafficCounters } from "../ledger/Traffic.ts"
import { type CoveredPrompt, coverPrompt, type PromptShortage } from "./CoverPrompt.ts"
import { Delivery } from "./Delivery.ts"
import type { OpenRequests } from "./OpenRequests.ts"
import type { InferenceRequest, RelayConnection, Run, WriteResponse } from "./RelayConnection.ts"
import { type Attempt, type AttemptError, endingOf, type FailedAttempt } from "./RouteAttempts.ts"
import { RouteSequence } from "./RouteSequence.ts"
import { StreamAllowance } from "./StreamAllowance.ts"
import { localCounts, NOT_COUNTED, type TokenCounter } from "./TokenCounter.ts"

export type RelayRequestError = ModelNotFound | AdmissionRefusal | Overloaded | AttemptError

export interface Ports {
  readonly ledger: InferenceLedger["Type"]
  readonly open: OpenRequests["Type"]
  readonly counter: TokenCounter["Type"]
  readonly traffic: TrafficCounters
  readonly run: Run
}

const CLIENT_GONE: Exit.Exit<never> = Exit.interrupt(FiberId.none)

export class AdmittedRequest<Request extends InferenceRequest> {
  readonly #connection: RelayConnection<Request>
  readonly #request: Request
  readonly #admission: Admission
  readonly #delivery: Delivery
  /** Decides how much of a stream may be written; undefined for a whole response. */
  readonly #allowance: StreamAllowance | undefined
  readonly #ports: Ports
  readonly #callback: Callback<WriteResponse | undefined, RelayRequestError>
  #phase: "admitting" | "trying" | "settling" | "over" = "admitting"
  #isHoldDurable = false
  /** The function that settles the request, if the attempts ended before the hold was durable. */
  #afterAdmission: (() => void) | undefined
  readonly #routes: RouteSequence
  #clientLeft = false
  /** Set just before the settlement is passed to the ledger. An exception in that call starts no second settlement. */
  #settlementSent = false
  constructor(
    connection: RelayConnection<Request>,
    request: Request,
    candidates: Callable["candidates"],
    admission: Admission,
    ports: Ports,
    callback: Callback<WriteResponse | undefined, RelayRequestError>
  ) {
    this.#connection = connection
    this.#request = request
    this.#routes = new RouteSequence(candidates, request.model, ports.traffic)
    this.#admission = admission
    this.#delivery = new Delivery(connection.requestId, admission.estimate.inputFloor, connection)
    if (request.streamed) this.#allowance = new StreamAllowance(admission, request, this.#delivery, ports)
    this.#delivery.allowance = this.#allowance
    this.#ports = ports
    this.#callback = callback
  }

  admit(): void {
    this.#connection.onDisconnect = this.#onDisconnect
    const { ledger } = this.#ports
    const admit = () => ledger.admit(this.#admission, this.#onAdmission)
    if (!ledger.isAmple(this.#admission)) admit()
    else if (this.#request.streamed) {
      this.#step(() => this.#tryRoutes())
      // undici writes the request to the upstream in an earlier `setImmediate` callback, so this does not delay it.
      setImmediate(admit)
    } else {
      ledger.admitLater(this.#admission, this.#onAdmission)
      this.#step(() => this.#tryRoutes())
    }
  }

  /** In the phase "admitting", a disconnect is only recorded. The request ends when the phase "trying" begins. */
  readonly #onDisconnect = (): void => {
    this.#clientLeft = true
    if (this.#phase === "trying") this.#end(CLIENT_GONE)
  }

  readonly #onAdmission = (exit: Exit.Exit<Hold, AdmissionRefusal | Overloaded>): void => {
    if (Exit.isFailure(exit)) {
      this.#connection.abort()
      this.#ports.traffic.refused(this.#request.model, exit.cause)
      this.#finish(Exit.failCause(exit.cause))
    } else this.#step(() => this.#admitted(exit.value))
  }

  #admitted(hold: Hold): void {
    this.#isHoldDurable = true
    if (this.#afterAdmission !== undefined) this.#afterAdmission()
    else {
      coverPrompt(hold, this.#admission, this.#request, this.#ports, (exit) => {
        this.#step(() => this.#promptCovered(exit))
      })
    }
  }

  #promptCovered(exit: Exit.Exit<CoveredPrompt, PromptShortage>): void {
    // An attempt that began before the hold was durable can end while `coverPrompt` runs.
    if (this.#phase === "settling" || this.#phase === "over") return
    if (Exit.isFailure(exit)) this.#end(Exit.failCause(exit.cause))
    else {
      this.#allowance?.open(exit.value.hold, exit.value.counted)
      this.#tryRoutes()
    }
  }

  #tryRoutes(): void {
    if (this.#phase !== "admitting") return
    this.#phase = "trying"
    this.#ports.open.add(this.#delivery)
    if (this.#clientLeft) this.#end(CLIENT_GONE)
    else this.#routes.order(this.#ports.run, () => this.#step(() => this.#tryNextRoute()))
  }

  /**
   * Calls `settle` when the hold is durable, because only a durable hold can be settled. Until then, only the first
   * `settle` is kept.
   */
  #whenDurable(settle: () => void): void {
    if (this.#isHoldDurable) settle()
    else {
      this.#afterAdmission ??= settle
      this.#ports.ledger.admitNow(this.#admission)
    }
  }

  #tryNextRoute(): void {
    if (this.#phase !== "trying") return
    this.#delivery.discardReported()
    const candidate = this.#routes.next()
    if (candidate === undefined) this.#end(Exit.fail(this.#routes.error))
    else this.#connection.attempt(this.#request, candidate, this.#delivery, this.#onAttempt)
  }

  readonly #onAttempt = (exit: Exit.Exit<Attempt, FailedAttempt>): void => {
    if (this.#phase !== "trying") return
    this.#step(() => {
      if (Exit.isFailure(exit)) this.#attemptFailed(exit.cause)
      else if (exit.value._tag === "Completed") this.#settleThenWrite(exit.value)
      else this.#end(Exit.succeed(undefined))
    })
  }

  /** Tries the next route only if the failure allows it and no byte of the response was sent. */
  #attemptFailed(cause: Cause.Cause<FailedAttempt>): void {
    const failed = Option.getOrUndefined(Cause.failureOption(cause))
    this.#routes.failed(failed?.error)
    if (failed === undefined) this.#end(Exit.die(Cause.squash(cause)))
    else if (failed.retryElsewhere && !this.#connection.committed()) this.#tryNextRoute()
    else this.#end(Exit.fail(this.#routes.error))
  }

  #settleThenWrite({ content, write }: Attempt & { readonly _tag: "Completed" }): void {
    const complete: Outcome = { ...this.#delivery.outcome("complete"), deltas: 1 }
    const clientGone = this.#delivery.outcome("client_gone")
    const settlementWith = (counts: LocalCounts) =>
      this.#settlement(() => this.#delivery.measured(this.#connection.gone() ? clientGone : complete, counts))
    const onSettled: SettlementCallback = (exit) =>
      this.#step(() => {
        if (Exit.isFailure(exit)) this.#finish(Exit.failCause(exit.cause))
        else if (exit.value === undefined) this.#failSettledElsewhere()
        else this.#finish(Exit.succeed(write))
      })
    if (this.#settlesWithAdmission(complete, settlementWith(NOT_COUNTED), onSettled)) return
    this.#whenDurable(() => {
      this.#phase = "settling"
      this.#count(
        complete,
        () => [content()],
        (counts) => {
          this.#settlementSent = true
          this.#ports.ledger.settle(settlementWith(counts), onSettled)
        }
      )
    })
  }

  /**
   * Fails the request, because a sweep considered this node dead and settled the request as not delivered. The client
   * gets an error instead of the response. If the client repeats the request, only the repeated request is charged.
   */
  #failSettledElsewhere(): void {
    const warning = Effect.logWarning("response not sent: a sweep has already settled the request as not delivered")
    this.#ports.run(Effect.annotateLogs(warning, { request_id: this.#admission.requestId }), () => {})
    this.#finish(Exit.fail(new Overloaded({ retryAfterSeconds: 1 })))
  }

  /** Aborts a running attempt if the request failed. Settles the delivered part in the background. */
  #end(exit: Exit.Exit<undefined, AttemptError>): void {
    if (Exit.isFailure(exit)) this.#connection.abort()
    const outcome = this.#delivery.outcome(endingOf(exit, this.#delivery))
    const settlement = this.#settlement(() => this.#delivery.measured(outcome, NOT_COUNTED))
    const isJoined = this.#settlesWithAdmission(outcome, settlement, () => this.#finish(exit))
    if (!isJoined) this.#whenDurable(() => this.#settleEnded(exit, outcome))
  }

  /**
   * Settles the request in the transaction of its admission, if the admission is deferred and the charge needs no local
   * count. Returns whether it does. If the admission is refused, the request gets the refusal.
   */
  #settlesWithAdmission(outcome: Outcome, settlement: SettlementRequest, callback: SettlementCallback): boolean {
    if (this.#isHoldDurable || this.#request.streamed || needsLocalCount(outcome)) return false
    this.#settlementSent = true
    this.#settlementSent = this.#ports.ledger.settleWithAdmission(settlement, callback)
    if (this.#settlementSent) this.#phase = "settling"
    return this.#settlementSent
  }

  #settlement(measure: SettlementRequest["measure"]): SettlementRequest {
    return { admission: this.#admission, measure, route: this.#routes.route }
  }

  #settleEnded(exit: Exit.Exit<undefined, AttemptError>, outcome: Outcome): void {
    this.#phase = "settling"
    const contents = () => this.#delivery.text.texts
    this.#count(outcome, contents, (counts) => {
      const measured = this.#delivery.measured(outcome, counts)
      this.#settlementSent = true
      this.#ports.ledger.settleLater(this.#settlement(() => measured))
      this.#finish(exit)
    })
  }

  /** Counts tokens locally if the charge needs it (`needsLocalCount`). Calls `then` unless the count fails. */
  #count(outcome: Outcome, contents: () => ReadonlyArray<string>, then: (counts: LocalCounts) => void): void {
    if (!needsLocalCount(outcome)) then(NOT_COUNTED)
    else {
      this.#ports.run(localCounts(outcome, contents(), this.#request, this.#ports.counter), (exit) => {
        if (Exit.isFailure(exit)) this.#step(() => this.#settleAtCheckpoint(outcome.ending, exit.cause))
        else this.#step(() => then(exit.value))
      })
    }
  }

  /**
   * Settles a request whose charge could not be computed because of an internal error. The current checkpoint of the
   * delivery replaces the local counts. It needs no tokenizer, and has at most one output token for each delivered
   * delta. Reported usage is still used. A request of which nothing was delivered counts as failed and is not charged.
   * A whole response is such a request, because it is not written.
   */
  #settleAtCheckpoint(ending: Ending, cause: Cause.Cause<never>): void {
    this.#settlementSent = true
    const { deltas } = this.#delivery.text
    const { input, output } = this.#delivery.checkpoint
    const outcome = this.#delivery.outcome(deltas > 0 ? ending : "failed")
    const measured = this.#delivery.measured(outcome, { prompt: () => input, deliveredOutput: () => output })
    this.#ports.ledger.settleLater(this.#settlement(() => measured))
    this.#finish(Exit.failCause(cause))
  }

  /** Runs a step. An exception ends the request, and settles it if no settlement was passed to the ledger yet. */
  #step(step: () => void): void {
    try {
      step()
    } catch (defect) {
      if (this.#settlementSent) this.#finish(Exit.die(defect))
      else if (this.#phase === "trying" || (this.#phase === "admitting" && this.#isHoldDurable)) {
        this.#step(() => this.#end(Exit.die(defect)))
      } else if (this.#phase === "settling") {
        this.#step(() => this.#settleAtCheckpoint("upstream_cut", Cause.die(defect)))
      } else this.#finish(Exit.die(defect))
    }
  }

  #finish(exit: Exit.Exit<WriteResponse | undefined, RelayRequestError>): void {
    if (this.#phase === "over") return
    this.#phase = "over"
    this.#ports.open.delete(this.#delivery)
    this.#callback(exit)
  }
}
