/**
 * Decides the work of one transaction, one request after the other, by the rules of the domain.
 *
 * Settlements come first, so that what they give back serves the admissions of the same transaction.
 */
import type { Admission, Settled } from "@tollgate/application/ledger/InferenceLedger"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import type { UserId } from "@tollgate/domain/customer/User"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { decideHold, type Hold } from "@tollgate/domain/ledger/Hold"
import * as Either from "effect/Either"
import type { BalanceCache } from "./BalanceCache.ts"
import type { Call } from "./DedicatedConnection.ts"
import { insertHolds, type NewHold } from "./HoldRows.ts"
import {
  type Admitted,
  type LedgerOutcome,
  type LedgerWork,
  NOBODY,
  ownerOf,
  type SettlingEntry
} from "./LedgerWork.ts"
import { type NewSettlement, settleHold, settleHolds } from "./SettlementRows.ts"
import type { WorkingBalances } from "./WorkingBalances.ts"
import { inOneStatement, type WriteStatement } from "./WriteStatement.ts"

/** What is known besides the balances. */
export interface Facts {
  /** The hold that this request is settled in place of. */
  readonly hold: (requestId: RequestId) => Hold | undefined
  /** What a request comes to that has no hold any more. */
  readonly settledBefore: (entry: SettlingEntry) => Settled | undefined
  /** What an admission comes to without another look at the balances. */
  readonly admittedBefore: (admission: Admission) => Admitted | undefined
}

export class LedgerDecisions {
  readonly outcome: LedgerOutcome
  readonly #accounts: WorkingBalances
  readonly #settlements: Array<NewSettlement> = []
  readonly #holds: Array<NewHold> = []

  constructor(
    { settlings, admissions }: LedgerWork,
    accounts: WorkingBalances,
    facts: Facts,
    busy: ReadonlySet<UserId> = NOBODY
  ) {
    this.#accounts = accounts
    const taken = new Set<RequestId>()
    const settled = settlings.map((entry): Settled | undefined => {
      const { admission, measure } = entry.settling
      const { requestId, price } = admission
      const hold = taken.has(requestId) ? undefined : facts.hold(requestId)
      if (hold === undefined) return facts.settledBefore(entry)
      taken.add(requestId)
      const row = settleHold({ requestId, owner: ownerOf(admission), hold }, measure(), price, accounts)
      this.#settlements.push(row)
      return { measured: row.measured, settlement: row.settlement }
    })
    const admitted = admissions.map(({ admission }): Admitted => {
      const before = facts.admittedBefore(admission)
      if (before !== undefined) return before
      const owner = ownerOf(admission)
      return Either.map(decideHold(admission.estimate, admission.price, accounts.of(owner)), (held) => {
        accounts.keep(owner, held)
        this.#holds.push({ admission, held })
        return "held"
      })
    })
    this.outcome = { busy, settled, admitted }
  }

  /** Holds before accounts, as every transaction locks them. */
  write(nodeId: NodeId, accounts: ReadonlyArray<WriteStatement>): Call | undefined {
    return inOneStatement([
      ...(this.#settlements.length > 0 ? [settleHolds(this.#settlements)] : []),
      ...accounts,
      ...(this.#holds.length > 0 ? [insertHolds(nodeId, this.#holds)] : [])
    ])
  }

  /** Once they are committed. */
  remember(memory: BalanceCache): void {
    memory.keepAccounts(this.#accounts)
    for (const { requestId } of this.#settlements) memory.dropHold(requestId)
    for (const { admission, held } of this.#holds) memory.keepHold(admission.requestId, held.hold)
  }
}
