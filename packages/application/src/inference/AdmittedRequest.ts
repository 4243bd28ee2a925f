/**
 * One inference request from its hold to its settlement.
 *
 *     admitting ─▶ trying ─▶ settling ─▶ over
 *
 * Nothing is sent to a supplier before the hold is durable, and once it is, every way of ending settles: success,
 * failure, a fault of ours, and the client that left. A stream ends first and is settled after; a whole answer is
 * settled first and written after, so that its receiver finds the charge booked; one that another node has settled in the
 * meantime is not written.
 */

import type { Callable, Candidate } from "@tollgate/domain/catalog/Catalog"
import { type Ending, type LocalCounts, needsLocalCount, type Outcome } from "@tollgate/domain/inference/Charge"
import { type InvalidApiKey, Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import type { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import type { Admission, Callback, InferenceLedger } from "../ledger/InferenceLedger.ts"
import { Delivery } from "./Delivery.ts"
import { countsFor, measured, NOT_COUNTED } from "./MeasureRequest.ts"
import type { OpenRequests } from "./OpenRequests.ts"
import type { Attempt, AttemptError, AttemptFailed, InferenceRequest, RelayConnection } from "./RelayConnection.ts"
import type { TokenCounter } from "./TokenCounter.ts"
import { inOrder, mostTelling } from "./TryRoutes.ts"

export interface AdmittedRequestPorts {
  readonly ledger: InferenceLedger["Type"]
  readonly open: OpenRequests["Type"]
  readonly counter: TokenCounter["Type"]
  readonly run: Run
}

/** Runs an effect and answers with its exit: for what hardly any request needs. */
export type Run = <A, E>(effect: Effect.Effect<A, E>, answer: Callback<A, E>) => void

export type AdmittedRequestError = InsufficientBalance | InvalidApiKey | Overloaded | AttemptError

const LEFT: Exit.Exit<never> = Exit.interrupt(FiberId.none)

export class AdmittedRequest<Request extends InferenceRequest> {
  readonly #client: RelayConnection<Request>
  readonly #request: Request
  readonly #admission: Admission
  readonly #delivery: Delivery
  readonly #ports: AdmittedRequestPorts
  readonly #answer: Callback<void, AdmittedRequestError>
  #phase: "admitting" | "trying" | "settling" | "over" = "admitting"
  /** The routes in the order in which they are tried. */
  #routes: Callable["candidates"]
  #tried = 0
  #left = false
  #told: AttemptError | undefined

  constructor(
    client: RelayConnection<Request>,
    request: Request,
    candidates: Callable["candidates"],
    admission: Admission,
    ports: AdmittedRequestPorts,
    answer: Callback<void, AdmittedRequestError>
  ) {
    this.#client = client
    this.#request = request
    this.#routes = candidates
    this.#admission = admission
    this.#delivery = new Delivery(client.requestId, admission.estimate.inputFloor, client)
    this.#ports = ports
    this.#answer = answer
  }

  admit(): void {
    this.#client.onLeft = () => {
      // While it is being admitted, leaving has to wait: only who knows of the hold can give it back.
      this.#left = true
      if (this.#phase === "trying") this.#ended(LEFT)
    }
    this.#ports.ledger.admit(this.#admission, (exit) => {
      if (Exit.isFailure(exit)) this.#over(exit)
      else this.#step(() => this.#tryRoutes())
    })
  }

  #tryRoutes(): void {
    this.#phase = "trying"
    this.#ports.open.add(this.#delivery)
    if (this.#left) this.#ended(LEFT)
    else if (this.#routes.length === 1) this.#tryNext()
    else {
      this.#ports.run(inOrder(this.#routes), (exit) => {
        if (Exit.isSuccess(exit)) this.#routes = exit.value
        this.#step(() => this.#tryNext())
      })
    }
  }

  #tryNext(): void {
    if (this.#phase !== "trying") return
    this.#delivery.forgetReported()
    const candidate: Candidate | undefined = this.#routes[this.#tried++]
    if (candidate === undefined) this.#ended(Exit.fail(this.#told ?? new UpstreamFailed({ cause: "no route" })))
    else this.#client.attempt(this.#request, candidate, this.#delivery, this.#onAttempt)
  }

  readonly #onAttempt = (exit: Exit.Exit<Attempt, AttemptFailed>): void => {
    if (this.#phase !== "trying") return
    this.#step(() => {
      if (Exit.isFailure(exit)) this.#failed(exit.cause)
      else if (exit.value._tag === "Answered") this.#settleAndWrite(exit.value)
      else this.#ended(Exit.void)
    })
  }

  /**
   * A failure goes on to the next route only while nothing reached the client, and the error told in the end is the
   * most telling one: what a supplier did, before our own refusal to ask one.
   */
  #failed(cause: Cause.Cause<AttemptFailed>): void {
    const failed = Option.getOrUndefined(Cause.failureOption(cause))
    if (failed === undefined) {
      this.#ended(Exit.die(Cause.squash(cause)))
      return
    }
    const { error, elsewhere } = failed
    this.#told = mostTelling(this.#told, error)
    if (elsewhere && !this.#client.committed()) this.#tryNext()
    else this.#ended(Exit.fail(this.#told))
  }

  #settleAndWrite({ content, write }: Attempt & { readonly _tag: "Answered" }): void {
    this.#phase = "settling"
    const complete: Outcome = { ...this.#delivery.outcome("complete"), deltas: 1 }
    const left = this.#delivery.outcome("client_gone")
    this.#count(complete, [content], (counts) => {
      const measure = () => measured(this.#client.gone() ? left : complete, counts, this.#delivery)
      this.#ports.ledger.settle({ admission: this.#admission, measure }, (exit) => {
        this.#step(() => {
          if (Exit.isFailure(exit)) this.#over(exit)
          else if (exit.value === undefined) this.#keepBack()
          else {
            write()
            this.#over(Exit.void)
          }
        })
      })
    })
  }

  /**
   * This node was taken for dead, and another one has settled the request with what had been delivered by then: nothing.
   * So nothing is, and who comes again is charged once.
   */
  #keepBack(): void {
    const { requestId } = this.#admission
    const warning = Effect.logWarning("an answer is not delivered: another server has settled its request with nothing")
    this.#ports.run(Effect.annotateLogs(warning, { requestId }), () => {})
    this.#over(Exit.fail(new Overloaded({ retryAfterSeconds: 1 })))
  }

  /** Nothing more comes: what was delivered is settled in the background. */
  #ended(exit: Exit.Exit<void, AttemptError>): void {
    this.#phase = "settling"
    const outcome = this.#delivery.outcome(endingOf(exit, this.#delivery))
    this.#count(outcome, this.#delivery.text.texts, (counts) => {
      const last = measured(outcome, counts, this.#delivery)
      this.#ports.ledger.settleLater({ admission: this.#admission, measure: () => last })
      this.#over(exit)
    })
  }

  /** Most suppliers say what they used, and then nothing has to be counted here. */
  #count(outcome: Outcome, contents: ReadonlyArray<string>, then: (counts: LocalCounts) => void): void {
    if (!needsLocalCount(outcome)) then(NOT_COUNTED)
    else {
      this.#ports.run(countsFor(outcome, contents, this.#request, this.#ports.counter), (exit) => {
        if (Exit.isFailure(exit)) this.#over(Exit.failCause(exit.cause))
        else this.#step(() => then(exit.value))
      })
    }
  }

  /** A fault of ours ends the request, and settles it where that has not begun. */
  #step(step: () => void): void {
    try {
      step()
    } catch (defect) {
      if (this.#phase === "trying") this.#step(() => this.#ended(Exit.die(defect)))
      else this.#over(Exit.die(defect))
    }
  }

  #over(exit: Exit.Exit<void, AdmittedRequestError>): void {
    if (this.#phase === "over") return
    this.#phase = "over"
    this.#ports.open.delete(this.#delivery)
    this.#answer(exit)
  }
}

const endingOf = (exit: Exit.Exit<void, AttemptError>, delivery: Delivery): Ending => {
  if (Exit.isSuccess(exit)) return "complete"
  if (Cause.isInterrupted(exit.cause)) return "client_gone"
  return delivery.text.deltas > 0 ? "upstream_cut" : "failed"
}
