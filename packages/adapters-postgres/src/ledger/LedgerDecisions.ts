/**
 * Decides the requests of one transaction, one after the other, by the domain rules.
 *
 * Settlements are decided first, so that the other requests can use the amounts that the settlements release.
 * Extensions are decided before admissions, because running requests have priority over new requests. A settlement that
 * belongs to an admission is decided directly after it.
 */
import type { Admission, Extension, Measured, Settled } from "@tollgate/application/ledger/InferenceLedger"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import type { UserId } from "@tollgate/domain/customer/User"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import {
  covers,
  decideHold,
  extendHold,
  type Held,
  type Hold,
  type InsufficientBalance
} from "@tollgate/domain/ledger/Hold"
import {
  decideKeyHold,
  growKeyHold,
  type KeyBudgetExceeded,
  type KeyRateLimited
} from "@tollgate/domain/ledger/KeyHold"
import * as Either from "effect/Either"
import type { BalanceCache } from "./BalanceCache.ts"
import { type Extended, NO_USERS, SettledAtOnce } from "./Batch.ts"
import type { WorkingKeys } from "./CountedKeys.ts"
import type { BoundStatement } from "./DedicatedConnection.ts"
import { type GrownHold, growHolds, insertHolds, type NewHold } from "./HoldRows.ts"
import {
  type LedgerAdmission,
  type LedgerAdmitted,
  type LedgerOutcome,
  type LedgerSettlement,
  type LedgerWork,
  ownerOf
} from "./LedgerWork.ts"
import {
  insertSettlements,
  type NewSettlement,
  settleHold,
  settleHolds,
  type UnheldSettlement
} from "./SettlementRows.ts"
import type { WorkingBalances } from "./WorkingBalances.ts"
import { inOneStatement, type WriteStatement } from "./WriteStatement.ts"

/** Facts that the decisions need in addition to the balances. */
export interface Facts {
  /** Returns the hold of this request; undefined when the request has no hold. */
  readonly hold: (requestId: RequestId) => Hold | undefined
  /**
   * Returns the result of a settlement that an earlier attempt has committed; undefined when no such result is known.
   */
  readonly settledBefore: (entry: LedgerSettlement) => Settled | undefined
  /**
   * Returns the result of an admission that needs no balances, such as an admission with an invalid API key; otherwise
   * undefined.
   */
  readonly admittedBefore: (entry: LedgerAdmission) => LedgerAdmitted | undefined
}

export class LedgerDecisions {
  readonly outcome: LedgerOutcome
  readonly #accounts: WorkingBalances
  readonly #keys: WorkingKeys
  readonly #settlements: Array<NewSettlement> = []
  readonly #grown = new Map<RequestId, GrownHold>()
  readonly #holds: Array<NewHold> = []
  readonly #settledAtOnce: Array<UnheldSettlement> = []
  #isPartial = false

  constructor(
    { settlements, extensions, admissions }: LedgerWork,
    accounts: WorkingBalances,
    keys: WorkingKeys,
    facts: Facts,
    contended: ReadonlySet<UserId> = NO_USERS
  ) {
    this.#accounts = accounts
    this.#keys = keys
    const taken = new Set<RequestId>()
    const settled = settlements.map((entry): Settled | undefined => {
      const { admission, measure } = entry.request
      const { requestId, price } = admission
      const hold = taken.has(requestId) ? undefined : facts.hold(requestId)
      if (hold === undefined) return facts.settledBefore(entry)
      taken.add(requestId)
      const { keyId } = admission.principal
      const row = settleHold({ requestId, owner: ownerOf(admission), keyId, hold }, measure(), price, accounts, keys)
      this.#settlements.push(row)
      return { measured: row.measured, settlement: row.settlement }
    })
    const extended = extensions.map(({ request }) =>
      taken.has(request.admission.requestId) ? undefined : this.#extend(request, facts)
    )
    const admitted = admissions.map((entry): LedgerAdmitted => {
      const before = facts.admittedBefore(entry)
      if (before !== undefined) return before
      const { admission, settlement } = entry
      return Either.map(decideAdmission(admission, accounts, keys), (held) => {
        if (settlement !== undefined) return this.#settleAtOnce(admission, held, settlement.request.measure())
        this.#holds.push({ admission, held })
        return held.hold
      })
    })
    this.outcome = { contended, settled, extended, admitted }
  }

  /** Settles an admitted request whose hold was not written. */
  #settleAtOnce(admission: Admission, { hold }: Held, measured: Measured): SettledAtOnce<Settled> {
    const { price, principal, requestId } = admission
    const request = { requestId, owner: ownerOf(admission), keyId: principal.keyId, hold }
    const row = settleHold(request, measured, price, this.#accounts, this.#keys)
    this.#settledAtOnce.push({ ...row, admission })
    return new SettledAtOnce({ measured, settlement: row.settlement })
  }

  #extend({ admission, usage }: Extension, facts: Facts): Extended {
    const { price, requestId } = admission
    const earlier = this.#grown.get(requestId)
    const hold = earlier?.held.hold ?? facts.hold(requestId)
    if (hold === undefined) return undefined
    const owner = ownerOf(admission)
    const grown = extendHold(hold, usage, admission, this.#accounts.of(owner))
    this.#accounts.set(owner, grown)
    const held = this.#growKey(admission, grown, usage)
    this.#grown.set(requestId, { requestId, before: earlier?.before ?? hold, held })
    if (!covers(held.hold, usage, price)) this.#isPartial = true
    return held.hold
  }

  /**
   * Extends the part of a hold that is set aside from the budget of the limited key. If the key is no longer limited,
   * releases this part.
   */
  #growKey({ price, principal: { keyId } }: Admission, held: Held, usage: Extension["usage"]): Held {
    const { key: part } = held.hold
    if (part === undefined) return held
    const key = this.#keys.of(keyId)
    // The pending amount of a key that is not limited is not kept up to date. It is computed when the key becomes
    // limited again.
    if (key === undefined) return { ...held, hold: { ...held.hold, key: { ...part, budgetPico: undefined } } }
    const { counts, hold } = growKeyHold(part, usage, price, key, this.#keys.nowMillis)
    this.#keys.set(keyId, counts)
    return { ...held, hold: { ...held.hold, key: hold } }
  }

  /**
   * True if a request is refused, is extended only in part, or has no hold. Only a decision from current rows may have
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
   * accounts and then limited keys, because every transaction locks rows in this order.
   */
  write(nodeId: NodeId, accounts: ReadonlyArray<WriteStatement>): BoundStatement | undefined {
    return inOneStatement([
      ...(this.#settlements.length > 0 ? [settleHolds(this.#settlements)] : []),
      ...(this.#grown.size > 0 ? [growHolds([...this.#grown.values()])] : []),
      ...accounts,
      ...this.#keys.changes,
      ...(this.#holds.length > 0 ? [insertHolds(nodeId, this.#holds)] : []),
      ...(this.#settledAtOnce.length > 0 ? [insertSettlements(this.#settledAtOnce)] : [])
    ])
  }

  /** Copies the decisions to the cache. The caller must have committed them. */
  updateCache(cache: BalanceCache): void {
    cache.setBalances(this.#accounts)
    cache.setKeys(this.#keys)
    for (const { requestId } of this.#settlements) cache.deleteHold(requestId)
    for (const { requestId, held } of this.#grown.values()) cache.setHold(requestId, held.hold)
    for (const { admission, held } of this.#holds) cache.setHold(admission.requestId, held.hold)
  }
}

/** Decides an admission from the balances and from the limits of its key. Updates both if the admission succeeds. */
export const decideAdmission = (
  admission: Admission,
  accounts: WorkingBalances,
  keys: WorkingKeys
): Either.Either<Held, InsufficientBalance | KeyBudgetExceeded | KeyRateLimited> => {
  const { keyId } = admission.principal
  const owner = ownerOf(admission)
  const held = decideHold(admission.estimate, admission.price, accounts.of(owner))
  const key = keys.of(keyId)
  if (Either.isLeft(held) || key === undefined) {
    if (Either.isRight(held)) accounts.set(owner, held.right)
    return held
  }
  return Either.map(decideKeyHold(admission, key, keys.nowMillis), ({ counts, hold }) => {
    accounts.set(owner, held.right)
    keys.set(keyId, counts)
    keys.admitted(keyId)
    return { ...held.right, hold: { ...held.right.hold, key: hold } }
  })
}
