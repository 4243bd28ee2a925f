/**
 * The ledger of inference: a durable hold before a request is sent upstream, and one settlement afterwards.
 *
 * Each call is decided inside a transaction that many requests share. The rules are in the domain (`Hold`,
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

/** How an admitted request ended, and what it is charged. */
export interface Measured {
  readonly ending: Ending
  readonly charge: Charge
  /** Milliseconds from acceptance to the first delta delivered; absent when there was none. */
  readonly ttftMillis: number | undefined
  readonly durationMillis: number
}

export interface SettlementRequest {
  readonly admission: Admission
  /**
   * Called when the transaction that writes the settlement is built, not when the settlement is queued. A client that
   * leaves while its settlement is queued is therefore not charged. Called again when the transaction is retried.
   */
  readonly measure: () => Measured
}

export interface Settled {
  /** The result of `measure` that this settlement was written with. */
  readonly measured: Measured
  readonly settlement: Settlement
}

/** The load of the ledger, for metrics. */
export interface LedgerLoad {
  /** Requests whose hold is not durable yet. */
  readonly waitingAdmissions: number
  /** Settlements that are not durable yet. */
  readonly unsettled: number
  /** Transactions since the start, and their total duration. */
  readonly transactions: number
  readonly transactionMillis: number
}

/** Receives the result, once. */
export type Callback<A, E = never> = (exit: Exit.Exit<A, E>) => void

/**
 * Takes callbacks instead of returning effects: every request makes these calls, and a waiting fiber would cost more than
 * the call.
 */
export class InferenceLedger extends Context.Tag("@tollgate/application/InferenceLedger")<
  InferenceLedger,
  {
    /**
     * Makes the hold durable. Checks the key again, so that a revoked key is refused although a cache still has it. A
     * full queue and an unreachable database are {@link Overloaded}. The callback always runs; a caller that no longer
     * needs the hold settles it then.
     */
    readonly admit: (
      admission: Admission,
      callback: Callback<void, InsufficientBalance | InvalidApiKey | Overloaded>
    ) => void
    /**
     * Settles, and calls back when the settlement is durable. If another node has settled the request before, the result
     * is `undefined` and nothing changes. Retries until the database is back.
     */
    readonly settle: (settling: SettlementRequest, callback: Callback<Settled | undefined>) => void
    /** Settles in the background. The shutdown waits for it; it is never dropped. */
    readonly settleLater: (settling: SettlementRequest) => void
    /** Stores what running requests have delivered, in one statement. */
    readonly checkpoint: (
      checkpoints: ReadonlyArray<{ readonly requestId: RequestId; readonly checkpoint: Checkpoint }>
    ) => Effect.Effect<void>
    readonly load: () => LedgerLoad
  }
>() {}
