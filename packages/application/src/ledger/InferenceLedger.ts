/**
 * The inference ledger: a durable hold before a request is sent upstream, and one settlement afterwards.
 *
 * Each call is decided inside a database transaction that many requests share. The rules are in the domain (`Hold`,
 * `Settlement`).
 */
import type { ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import type { Principal } from "@tollgate/domain/customer/ApiKey"
import type { Ending } from "@tollgate/domain/inference/Charge"
import type { Checkpoint } from "@tollgate/domain/inference/Checkpoint"
import type { InvalidApiKey, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import type { Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { Estimate, InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import type { Price } from "@tollgate/domain/ledger/Price"
import type { Charge, Settlement } from "@tollgate/domain/ledger/Settlement"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"

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

/** The ending, the charge and the times of an admitted request. */
export interface Measured {
  readonly ending: Ending
  readonly charge: Charge
  /** The time from acceptance to the first delta in milliseconds; undefined without a delta. */
  readonly ttftMillis: number | undefined
  readonly durationMillis: number
}

export interface SettlementRequest {
  readonly admission: Admission
  /**
   * Called when the transaction that writes the settlement is built, not when the settlement is queued. A client that
   * disconnects while its settlement is queued is therefore not charged. Called again before each retry of the
   * transaction.
   */
  readonly measure: () => Measured
}

export interface Settled {
  /** The result of `measure` that was settled. */
  readonly measured: Measured
  readonly settlement: Settlement
}

/** The load of the ledger, for metrics. */
export interface LedgerLoad {
  /** Requests whose hold is not durable yet. */
  readonly waitingAdmissions: number
  /** Settlements that are not durable yet. */
  readonly unsettled: number
  /** Transactions since the process start; `transactionMillis` is their total duration. */
  readonly transactions: number
  readonly transactionMillis: number
}

/** Receives the result. It is called once. */
export type Callback<A, E = never> = (exit: Exit.Exit<A, E>) => void

/**
 * The methods take callbacks instead of returning effects: every request calls them, and a waiting fiber would cost
 * more than the call.
 */
export class InferenceLedger extends Context.Tag("@tollgate/application/InferenceLedger")<
  InferenceLedger,
  {
    /**
     * Makes the hold durable. Checks the key again, so that a revoked key is refused even if a cache still has it. A
     * full queue or an unreachable database fails with {@link Overloaded}. The callback always runs; a caller that no
     * longer needs the hold must settle it in the callback.
     */
    readonly admit: (
      admission: Admission,
      callback: Callback<void, InsufficientBalance | InvalidApiKey | Overloaded>
    ) => void
    /**
     * Settles a request and calls back when the settlement is durable. If another node has already settled it, the
     * result is `undefined` and nothing changes. Retries while the database is unreachable.
     */
    readonly settle: (settling: SettlementRequest, callback: Callback<Settled | undefined>) => void
    /** Settles a request in the background. The shutdown waits for the settlement; it is never dropped. */
    readonly settleLater: (settling: SettlementRequest) => void
    /** Stores the checkpoints of running requests in one statement. */
    readonly checkpoint: (
      checkpoints: ReadonlyArray<{ readonly requestId: RequestId; readonly checkpoint: Checkpoint }>
    ) => Effect.Effect<void>
    readonly load: () => LedgerLoad
  }
>() {}
