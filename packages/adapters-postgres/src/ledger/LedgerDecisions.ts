/**
 * Decides the requests of one transaction, one after the other, by the domain rules.
 *
 * Settlements are decided first, so that admissions of the same transaction can use the amounts that these settlements
 * release.
 */
import type { Admission, Settled } from "@tollgate/application/ledger/InferenceLedger"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import type { UserId } from "@tollgate/domain/customer/User"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { decideHold, type Hold } from "@tollgate/domain/ledger/Hold"
import * as Either from "effect/Either"
import type { BalanceCache } from "./BalanceCache.ts"
import { NO_USERS } from "./Batch.ts"
import type { BoundStatement } from "./DedicatedConnection.ts"
import { insertHolds, type NewHold } from "./HoldRows.ts"
import {
  type LedgerAdmitted,
  type LedgerOutcome,
  type LedgerSettlement,
  type LedgerWork,
  ownerOf
} from "./LedgerWork.ts"
import { type NewSettlement, settleHold, settleHolds } from "./SettlementRows.ts"
import type { WorkingBalances } from "./WorkingBalances.ts"
import { inOneStatement, type WriteStatement } from "./WriteStatement.ts"

/** Facts that the decisions need in addition to the balances. */
export interface Facts {
  /** Returns the hold that the settlement of this request replaces; undefined when the request has no hold. */
  readonly hold: (requestId: RequestId) => Hold | undefined
  /** Returns the result of a settlement that an earlier attempt has committed; undefined when the result is unknown. */
  readonly settledBefore: (entry: LedgerSettlement) => Settled | undefined
  /**
   * Returns the result of an admission that needs no decision over balances, such as one with an invalid API key;
   * otherwise undefined.
   */
  readonly admittedBefore: (admission: Admission) => LedgerAdmitted | undefined
}

export class LedgerDecisions {
  readonly outcome: LedgerOutcome
  readonly #accounts: WorkingBalances
  readonly #settlements: Array<NewSettlement> = []
  readonly #holds: Array<NewHold> = []

  constructor(
    { settlements, admissions }: LedgerWork,
    accounts: WorkingBalances,
    facts: Facts,
    contended: ReadonlySet<UserId> = NO_USERS
  ) {
    this.#accounts = accounts
    const taken = new Set<RequestId>()
    const settled = settlements.map((entry): Settled | undefined => {
      const { admission, measure } = entry.request
      const { requestId, price } = admission
      const hold = taken.has(requestId) ? undefined : facts.hold(requestId)
      if (hold === undefined) return facts.settledBefore(entry)
      taken.add(requestId)
      const row = settleHold({ requestId, owner: ownerOf(admission), hold }, measure(), price, accounts)
      this.#settlements.push(row)
      return { measured: row.measured, settlement: row.settlement }
    })
    const admitted = admissions.map(({ admission }): LedgerAdmitted => {
      const before = facts.admittedBefore(admission)
      if (before !== undefined) return before
      const owner = ownerOf(admission)
      return Either.map(decideHold(admission.estimate, admission.price, accounts.of(owner)), (held) => {
        accounts.set(owner, held)
        this.#holds.push({ admission, held })
        return "held"
      })
    })
    this.outcome = { contended, settled, admitted }
  }

  /**
   * Returns the statement that writes all decisions. The statement deletes settled holds before it writes accounts,
   * because every transaction locks holds before accounts.
   */
  write(nodeId: NodeId, accounts: ReadonlyArray<WriteStatement>): BoundStatement | undefined {
    return inOneStatement([
      ...(this.#settlements.length > 0 ? [settleHolds(this.#settlements)] : []),
      ...accounts,
      ...(this.#holds.length > 0 ? [insertHolds(nodeId, this.#holds)] : [])
    ])
  }

  /** Copies the decisions to the cache. The caller must have committed them. */
  updateCache(cache: BalanceCache): void {
    cache.setBalances(this.#accounts)
    for (const { requestId } of this.#settlements) cache.deleteHold(requestId)
    for (const { admission, held } of this.#holds) cache.setHold(admission.requestId, held.hold)
  }
}
