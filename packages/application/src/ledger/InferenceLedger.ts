/**
 * The inference ledger stores a durable hold before a byte of the response is written. Later it stores one settlement:
 * after the end of a stream, or before a whole response is written. The hold of a stream grows while the stream is
 * delivered. For a whole response that arrives within a few milliseconds, it stores only the settlement.
 *
 * Many requests share one database transaction, which writes the decisions about their holds, extensions and
 * settlements, and writes nothing if a decision was made from outdated balances. The rules of the decisions are in the
 * domain (`Hold`, `Settlement`).
 */
import type { ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import type { Principal } from "@tollgate/domain/customer/ApiKey"
import type { Ending } from "@tollgate/domain/inference/Charge"
import type { Checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { InvalidApiKey, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { Estimate, Hold, InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { KeyBudgetExceeded, KeyRateLimited } from "@tollgate/domain/ledger/KeyHold"
import type { Price } from "@tollgate/domain/ledger/Price"
import type { Charge, Settlement } from "@tollgate/domain/ledger/Settlement"
import type { TokenUsage } from "@tollgate/domain/ledger/TokenUsage"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { RouteTraffic } from "./Traffic.ts"

export interface Admission {
  readonly requestId: RequestId
  readonly principal: Principal
  readonly modelId: ModelId
  readonly priceId: PriceId
  readonly price: Price
  readonly protocol: Protocol
  readonly streamed: boolean
  readonly estimate: Estimate
}

/** A request for a larger hold. */
export interface Extension {
  readonly admission: Admission
  /** The usage that the hold must cover. */
  readonly usage: TokenUsage
}

/** The ending, the charge and the times of an admitted request. */
export interface Measured {
  readonly ending: Ending
  readonly charge: Charge
  /**
   * The time from the acceptance of the request to its first delta, in milliseconds; undefined if there was no delta.
   */
  readonly ttftMillis: number | undefined
  readonly durationMillis: number
}

export interface SettlementRequest {
  readonly admission: Admission
  /**
   * Returns the charge. It is called when the transaction that writes the settlement is built, and again before each
   * retry of the transaction. It is not called when the settlement is queued. Therefore a whole response is not charged
   * if its client disconnects while the settlement is queued.
   */
  readonly measure: () => Measured
  /** The counters of the route of the last attempt; undefined if the settlement is not counted by route. */
  readonly route?: RouteTraffic | undefined
}

export interface Settled {
  /** The result of `measure` that was settled. */
  readonly measured: Measured
  readonly settlement: Settlement
}

/** The load of the ledger, for metrics. */
export interface LedgerLoad {
  /** The number of requests whose admission is not durable yet. */
  readonly waitingAdmissions: number
  /** The number of settlements that are not durable yet. */
  readonly unsettled: number
  /** The number of transactions since the start of the process. */
  readonly transactions: number
  /** The total duration of these transactions in milliseconds. */
  readonly transactionMillis: number
}

/** The reasons for which the ledger refuses an admission. */
export type AdmissionRefusal = InsufficientBalance | InvalidApiKey | KeyBudgetExceeded | KeyRateLimited

/** Receives the result of a call. It is called once. */
export type Callback<A, E = never> = (exit: Exit.Exit<A, E>) => void
export type AdmissionCallback = Callback<Hold, AdmissionRefusal | Overloaded>
export type SettlementCallback = Callback<Settled | undefined>

/**
 * The methods for single requests take callbacks instead of returning effects, because a waiting fiber would cost more
 * CPU time than the call.
 */
export class InferenceLedger extends Context.Tag("@tollgate/application/InferenceLedger")<
  InferenceLedger,
  {
    /**
     * Decides the hold and makes it durable. Checks the API key and its expiry again, so that a revoked key is refused
     * even if a cache contains it, and checks the budgets, the rate limits and the limit of concurrent requests of the
     * key. Fails with {@link Overloaded} if too many requests wait, or if the decision takes too long, for example
     * because the database is unreachable. The callback always runs. If the caller no longer needs the hold when the
     * callback runs, the caller must settle the hold.
     */
    readonly admit: (admission: Admission, callback: AdmissionCallback) => void
    /**
     * Admits a request whose response will be whole and which is sent to its provider before its hold is durable. Like
     * `admit`, but the admission is deferred for 10 milliseconds. If the response arrives in this time, the caller can
     * call `settleWithAdmission`, and the ledger writes the settlement without writing the hold first.
     */
    readonly admitLater: (admission: Admission, callback: AdmissionCallback) => void
    /** Ends the deferral of an admission. Does nothing if the admission is not deferred. */
    readonly admitNow: (admission: Admission) => void
    /**
     * Returns whether the admission is practically certain: the key is not limited, the cached balances are ample, and
     * neither the queue nor the database delays the admission. Such a request may be sent to a provider before its hold
     * is durable.
     */
    readonly isAmple: (admission: Admission) => boolean
    /**
     * Grows the hold of an open request until the hold covers the usage, or until the balances or the budget of the key
     * are used up. The hold of a whole response can stay unchanged instead (`extendHold`). Makes the larger hold
     * durable. The result is the hold, even if it did not grow, or undefined if the request is settled. Fails with
     * {@link Overloaded} for the same reasons as `admit`. The caller may then repeat the call.
     */
    readonly extend: (extension: Extension, callback: Callback<Hold | undefined, Overloaded>) => void
    /**
     * Settles a request and calls back when the settlement is durable. If a sweep has already settled the request, the
     * result is `undefined` and no balance changes. Retries while the database is unreachable.
     */
    readonly settle: (settling: SettlementRequest, callback: SettlementCallback) => void
    /**
     * Settles a request in the transaction of its deferred admission. Returns false if the admission is not deferred,
     * or no longer; the caller must then wait for the admission and call `settle`. Otherwise only one of two callbacks
     * is called, and not before this call returns: this callback with the result of `settle`, or the callback of
     * `admitLater` with a refusal or an error. After a refusal, nothing is charged.
     */
    readonly settleWithAdmission: (settling: SettlementRequest, callback: SettlementCallback) => boolean
    /**
     * Settles a request whose client waits for nothing. The settlement starts no transaction for a few milliseconds, so
     * that it can share the transaction of another request to the ledger. The shutdown of the server waits for the
     * settlement, up to a timeout.
     */
    readonly settleLater: (settling: SettlementRequest, callback?: SettlementCallback) => void
    /**
     * Writes the waiting settlements of this process immediately, and waits up to half a second for their transaction.
     * If the transaction has ended by then, later reads contain the settlements, except those of a customer with a
     * locked row.
     */
    readonly flush: Effect.Effect<void>
    /** Stores checkpoints, in one transaction for every 1,000 of them. */
    readonly checkpoint: (
      checkpoints: ReadonlyArray<{ readonly requestId: RequestId; readonly checkpoint: Checkpoint }>
    ) => Effect.Effect<void>
    readonly load: () => LedgerLoad
  }
>() {}
