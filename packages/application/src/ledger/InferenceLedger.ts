/**
 * The money of inference: a durable hold before anything is sent, one settlement afterwards.
 *
 * Each call is decided inside a transaction that many requests share; the rules are the domain's (`Hold`,
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

/** What became of an admitted request. */
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
   * Asked when the transaction that writes the settlement is put together, not when it is handed over, so that a client
   * that leaves while its answer waits for its turn is not charged. May be asked again when the transaction is retried.
   */
  readonly measure: () => Measured
}

export interface Settled {
  /** What was measured when this settlement was written. */
  readonly measured: Measured
  readonly settlement: Settlement
}

/** What the ledger has to do, for those who watch it. */
export interface LedgerLoad {
  /** Requests whose hold is not durable yet. */
  readonly waitingAdmissions: number
  /** Settlements that are not durable yet. */
  readonly unsettled: number
  /** Transactions carried out since the start, and how long they took together. */
  readonly transactions: number
  readonly transactionMillis: number
}

/** Takes the outcome, once. */
export type Callback<A, E = never> = (exit: Exit.Exit<A, E>) => void

/**
 * Called back rather than awaited: these are in every request, and a fiber that waits costs more than what it waits for.
 */
export class InferenceLedger extends Context.Tag("@tollgate/application/InferenceLedger")<
  InferenceLedger,
  {
    /**
     * Makes the hold durable. Re-checks the key, so a revoked one is refused whatever a cache said. Full queues and an
     * unreachable database are {@link Overloaded}. Answers always; whoever loses interest settles the hold then.
     */
    readonly admit: (
      admission: Admission,
      answer: Callback<void, InsufficientBalance | InvalidApiKey | Overloaded>
    ) => void
    /**
     * Settles, and answers when it is durable. Settled before by somebody else: `undefined`, and nothing moves. Retries
     * until the database is back.
     */
    readonly settle: (settling: SettlementRequest, answer: Callback<Settled | undefined>) => void
    /** Settles in the background; awaited at shutdown. Never dropped. */
    readonly settleLater: (settling: SettlementRequest) => void
    /** Records what running requests have delivered, in one statement. */
    readonly checkpoint: (
      checkpoints: ReadonlyArray<{ readonly requestId: RequestId; readonly checkpoint: Checkpoint }>
    ) => Effect.Effect<void>
    readonly load: () => LedgerLoad
  }
>() {}
