/**
 * Caches the balances and holds that the last transactions of a queue wrote.
 *
 * A stale cache never causes a wrong charge. When a transaction writes a decision over cached rows, the database
 * refuses the write if a row differs from the cache. A stale cache therefore only costs a second attempt.
 */
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { UserId } from "@tollgate/domain/customer/User"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { type Hold, isAmple } from "@tollgate/domain/ledger/Hold"
import type { HasAdmission } from "./Batch.ts"
import { type MutableUserBalances, type Owner, WorkingBalances } from "./WorkingBalances.ts"

/** Number of cached users above which the cache is cleared. The balances of each user are then read once more. */
const MAX_USERS = 10_000

export class BalanceCache {
  readonly #users = new Map<UserId, MutableUserBalances>()
  readonly #holds = new Map<RequestId, Hold>()

  /** Returns the balances of these owners; undefined when the balances of at least one owner are not cached. */
  balances(owners: ReadonlyArray<Owner>): WorkingBalances | undefined {
    const found = new Map<UserId, MutableUserBalances>()
    for (const { userId, modelId } of owners) {
      const known = this.#users.get(userId)
      if (known === undefined || !known.plans.has(modelId)) return undefined
      const user = found.get(userId)
      if (user === undefined) {
        found.set(userId, { payg: known.payg, plans: new Map([[modelId, known.plans.get(modelId)]]) })
      } else user.plans.set(modelId, known.plans.get(modelId))
    }
    return new WorkingBalances(found)
  }

  /** Returns whether the balances of the owner are cached and ample for this request. */
  isAmple({ estimate, modelId, price, principal }: Admission): boolean {
    const known = this.#users.get(principal.userId)
    if (known === undefined || !known.plans.has(modelId)) return false
    return isAmple(estimate, price, { payg: known.payg, plan: known.plans.get(modelId) })
  }

  /** Returns the hold of a request if this queue has admitted the request and has not settled it. */
  hold(requestId: RequestId): Hold | undefined {
    return this.#holds.get(requestId)
  }

  setBalances(balances: WorkingBalances): void {
    if (this.#users.size > MAX_USERS) this.#users.clear()
    for (const [userId, { payg, plans }] of balances.users) {
      const known = this.#users.get(userId)
      if (known === undefined) this.#users.set(userId, { payg, plans: new Map(plans) })
      else {
        known.payg = payg
        for (const [modelId, plan] of plans) known.plans.set(modelId, plan)
      }
    }
  }

  setHold(requestId: RequestId, hold: Hold): void {
    this.#holds.set(requestId, hold)
  }

  deleteHold(requestId: RequestId): void {
    this.#holds.delete(requestId)
  }

  /** Deletes the holds of these requests. */
  deleteHolds(requests: ReadonlyArray<{ readonly request: HasAdmission }>): void {
    for (const { request } of requests) this.#holds.delete(request.admission.requestId)
  }

  /** Deletes the balances of these users. */
  deleteBalances(owners: ReadonlyArray<Owner>): void {
    for (const { userId } of owners) this.#users.delete(userId)
  }
}
