/**
 * Wraps the connection and the ledger of a traced request. The wrappers forward the calls, and start and end the spans.
 */
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { Protocol, RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Exit from "effect/Exit"
import type { Callback, InferenceLedger, SettlementCallback } from "../ledger/InferenceLedger.ts"
import type { Delivery } from "./Delivery.ts"
import type { InferenceRequest, RelayConnection } from "./RelayConnection.ts"
import type { ActiveSpan, RequestTrace } from "./RequestTrace.ts"
import type { Attempt, FailedAttempt } from "./RouteAttempts.ts"

export class TracedConnection<Request extends InferenceRequest> implements RelayConnection<Request> {
  readonly requestId: RequestId
  readonly protocol: Protocol
  readonly acceptedAtMillis: number
  readonly #connection: RelayConnection<Request>
  readonly #trace: RequestTrace
  #attempt: ActiveSpan | undefined

  constructor(connection: RelayConnection<Request>, trace: RequestTrace) {
    this.requestId = connection.requestId
    this.protocol = connection.protocol
    this.acceptedAtMillis = connection.acceptedAtMillis
    this.#connection = connection
    this.#trace = trace
  }

  nowMillis(): number {
    return this.#connection.nowMillis()
  }

  committed(): boolean {
    return this.#connection.committed()
  }

  gone(): boolean {
    return this.#connection.gone()
  }

  get onDisconnect(): () => void {
    return this.#connection.onDisconnect
  }

  set onDisconnect(callback: () => void) {
    this.#connection.onDisconnect = callback
  }

  abort(): void {
    this.#connection.abort()
  }

  attempt(
    request: Request,
    candidate: Candidate,
    delivery: Delivery,
    callback: Callback<Attempt, FailedAttempt>
  ): void {
    const { provider, route } = candidate
    const span = this.#trace.start("upstream", "client", {
      provider: provider.name,
      upstream_model: route.upstreamModel
    })
    this.#attempt = span
    this.#connection.attempt(request, candidate, delivery, (exit) => {
      span.set({ deltas: delivery.text.deltas, time_to_first_token_millis: delivery.ttftMillis })
      span.end(Exit.mapError(exit, ({ error }) => error))
      callback(exit)
    })
  }

  /** Ends the span of an aborted attempt, because an aborted attempt does not call back. */
  endAttempt(exit: Exit.Exit<unknown, { readonly _tag: string }>): void {
    this.#attempt?.end(exit)
  }
}

/** Returns the ledger for one traced request. The admission and the settlement of the request each have a span. */
export const tracedLedger = (ledger: InferenceLedger["Type"], trace: RequestTrace): InferenceLedger["Type"] => ({
  ...ledger,
  admit: (admission, callback) => {
    const span = trace.start("admission", "internal")
    ledger.admit(admission, (exit) => {
      span.end(exit)
      callback(exit)
    })
  },
  ...deferredAdmission(ledger, trace),
  settle: (settling, callback) => {
    const span = trace.start("settlement", "internal")
    ledger.settle(settling, (exit) => {
      describe(span, exit)
      callback(exit)
    })
  },
  settleLater: (settling, callback) => {
    const span = trace.start("settlement", "internal")
    ledger.settleLater(settling, (exit) => {
      describe(span, exit)
      callback?.(exit)
    })
  }
})

/** If one transaction admits and settles the request, the spans of the admission and of the settlement end together. */
const deferredAdmission = (
  ledger: InferenceLedger["Type"],
  trace: RequestTrace
): Pick<InferenceLedger["Type"], "admitLater" | "settleWithAdmission"> => {
  let admission: ActiveSpan | undefined
  let settlement: ActiveSpan | undefined
  return {
    admitLater: (request, callback) => {
      admission = trace.start("admission", "internal")
      ledger.admitLater(request, (exit) => {
        admission?.end(exit)
        settlement?.end(exit)
        callback(exit)
      })
    },
    settleWithAdmission: (settling, callback) => {
      const isAdded = ledger.settleWithAdmission(settling, (exit) => {
        admission?.end(exit)
        if (settlement !== undefined) describe(settlement, exit)
        callback(exit)
      })
      if (isAdded) settlement = trace.start("settlement", "internal")
      return isAdded
    }
  }
}

/** Ends the span of a settlement. */
const describe = (span: ActiveSpan, exit: Parameters<SettlementCallback>[0]): void => {
  const settled = Exit.isSuccess(exit) ? exit.value : undefined
  span.set(
    settled === undefined
      ? { settled: false }
      : { settled: true, ending: settled.measured.ending, cost_usd_pico: settled.settlement.costPico.toString() }
  )
  span.end(exit)
}
