/**
 * The routes of one request of the relay, in the order in which they are tried. Counts the attempts, and keeps the most
 * informative of their errors.
 */
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import * as Exit from "effect/Exit"
import { NO_PROVIDER, type RouteTraffic, type TrafficCounters } from "../ledger/Traffic.ts"
import type { Run } from "./RelayConnection.ts"
import { type AttemptError, mostInformativeError, routesInOrder } from "./RouteAttempts.ts"

export class RouteSequence {
  #candidates: ReadonlyArray<Candidate>
  #tried = 0
  #error: AttemptError | undefined
  readonly #model: string
  readonly #traffic: TrafficCounters
  /** The counters of the last attempt's route. */
  route: RouteTraffic

  constructor(candidates: ReadonlyArray<Candidate>, model: string, traffic: TrafficCounters) {
    this.#candidates = candidates
    this.#model = model
    this.#traffic = traffic
    this.route = traffic.of(model, NO_PROVIDER)
  }

  /**
   * Orders the routes by priority, before the first attempt. The order of routes with equal priority is random, by
   * weight, for every request.
   */
  order(run: Run, then: () => void): void {
    if (this.#candidates.length === 1) then()
    else {
      run(routesInOrder(this.#candidates), (exit) => {
        if (Exit.isSuccess(exit)) this.#candidates = exit.value
        then()
      })
    }
  }

  /** Begins and counts an attempt on the next route; returns undefined if there is no further route. */
  next(): Candidate | undefined {
    const candidate = this.#candidates[this.#tried++]
    if (candidate === undefined) return undefined
    const failed = this.#tried > 1 ? this.route : undefined
    this.route = this.#traffic.attempt(this.#model, candidate.provider.name, failed)
    return candidate
  }

  /** Counts the failure of an attempt. An undefined error is a defect. */
  failed(error: AttemptError | undefined): void {
    this.route.attemptFailed(error?._tag ?? "defect")
    if (error !== undefined) this.#error = mostInformativeError(this.#error, error)
  }

  /** The most informative error of the attempts. */
  get error(): AttemptError {
    return this.#error ?? new UpstreamFailed({ cause: "no route" })
  }
}
