/**
 * Decides the requests of one transaction, one after the other, by the domain rules.
 *
 * Settlements are decided first, so that the other requests can use the amounts that the settlements release. Extensions
 * are decided before admissions, because a request that runs comes before a new request.
 */
import type { Admission, Extension, Settled } from "@tollgate/application/ledger/InferenceLedger"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import type { UserId } from "@tollgate/domain/customer/User"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { covers, decideHold, growHold, type Hold } from "@tollgate/domain/ledger/Hold"
import * as Either from "effect/Either"
import type { BalanceCache } from "./BalanceCache.ts"
import { type Extended, NO_USERS } from "./Batch.ts"
import type { BoundStatement } from "./DedicatedConnection.ts"
import { type GrownHold, growHolds, insertHolds, type NewHold } from "./HoldRows.ts"
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
  /** Returns the hold of this request; undefined when the request has no hold. */
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
  readonly #grown = new Map<RequestId, GrownHold>()
  readonly #holds: Array<NewHold> = []
  #isPartial = false

  constructor(
    { settlements, extensions, admissions }: LedgerWork,
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
    const extended = extensions.map(({ request }) =>
      taken.has(request.admission.requestId) ? undefined : this.#extend(request, facts)
    )
    const admitted = admissions.map(({ admission }): LedgerAdmitted => {
      const before = facts.admittedBefore(admission)
      if (before !== undefined) return before
      const owner = ownerOf(admission)
      return Either.map(decideHold(admission.estimate, admission.price, accounts.of(owner)), (held) => {
        accounts.set(owner, held)
        this.#holds.push({ admission, held })
        return held.hold
      })
    })
    this.outcome = { contended, settled, extended, admitted }
  }

  #extend({ admission, usage }: Extension, facts: Facts): Extended {
    const { price, requestId } = admission
    const earlier = this.#grown.get(requestId)
    const hold = earlier?.held.hold ?? facts.hold(requestId)
    if (hold === undefined) return undefined
    const owner = ownerOf(admission)
    const held = growHold(hold, usage, price, this.#accounts.of(owner))
    this.#accounts.set(owner, held)
    this.#grown.set(requestId, { requestId, before: earlier?.before ?? hold, held })
    if (!covers(held.hold, usage, price)) this.#isPartial = true
    return held.hold
  }

  /**
   * Whether a request is refused, extended only in part, or settled already. Only a decision over current rows may have
   * such a result.
   */
  get isRefusal(): boolean {
    const { settled, extended, admitted } = this.outcome
    return (
      this.#isPartial || settled.includes(undefined) || extended.includes(undefined) || admitted.some(Either.isLeft)
    )
  }

  /**
   * Returns the statement that writes all decisions. The statement deletes and grows holds before it writes
   * accounts, because every transaction locks holds before accounts.
   */
  write(nodeId: NodeId, accounts: ReadonlyArray<WriteStatement>): BoundStatement | undefined {
    return inOneStatement([
      ...(this.#settlements.length > 0 ? [settleHolds(this.#settlements)] : []),
      ...(this.#grown.size > 0 ? [growHolds([...this.#grown.values()])] : []),
      ...accounts,
      ...(this.#holds.length > 0 ? [insertHolds(nodeId, this.#holds)] : [])
    ])
  }

  /** Copies the decisions to the cache. The caller must have committed them. */
  updateCache(cache: BalanceCache): void {
    cache.setBalances(this.#accounts)
    for (const { requestId } of this.#settlements) cache.deleteHold(requestId)
    for (const { requestId, held } of this.#grown.values()) cache.setHold(requestId, held.hold)
    for (const { admission, held } of this.#holds) cache.setHold(admission.requestId, held.hold)
  }
}
