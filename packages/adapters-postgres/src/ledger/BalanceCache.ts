/**
 * Caches the balances, holds and limited keys that the transactions of a queue read or wrote last.
 *
 * A stale cache never causes a wrong charge. When a transaction writes a decision from cached rows, the database
 * refuses the write if a row differs from the cache. The transaction then decides again from locked rows.
 */
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { UserId } from "@tollgate/domain/customer/User"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { type Hold, isAmple } from "@tollgate/domain/ledger/Hold"
import type { HasAdmission } from "./Batch.ts"
import { type CountedKeyRow, type CountedKeyRows, NO_KEYS, type WorkingKeys } from "./CountedKeys.ts"
import { type MutableUserBalances, type Owner, WorkingBalances } from "./WorkingBalances.ts"

/**
 * Number of users above which all cached balances are deleted. Afterwards the next transaction of each user reads the
 * balances from the database.
 */
const MAX_USERS = 10_000
/** Number of limited keys above which all cached keys are deleted. */
const MAX_KEYS = 10_000
/** Age of the last reading of the database clock above which the clock is read again. */
const MAX_CLOCK_AGE_MILLIS = 60_000

export class BalanceCache {
  readonly #users = new Map<UserId, MutableUserBalances>()
  readonly #holds = new Map<RequestId, Hold>()
  readonly #keys = new Map<ApiKeyId, CountedKeyRow>()
  /** The time of the database and the time of this process at which keys were last read. */
  #readAt: { readonly databaseMillis: number; readonly processMillis: number } | undefined

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

  /**
   * Returns whether the balances that can pay for the request are cached and ample. Returns false for a limited key,
   * because its limits can refuse the request.
   */
  isAmple({ estimate, modelId, price, principal }: Admission): boolean {
    if (principal.limits?.counted) return false
    const known = this.#users.get(principal.userId)
    if (known === undefined || !known.plans.has(modelId)) return false
    return isAmple(estimate, price, { payg: known.payg, plan: known.plans.get(modelId) })
  }

  /** Returns the cached hold of a request; undefined if it is not cached. */
  hold(requestId: RequestId): Hold | undefined {
    return this.#holds.get(requestId)
  }

  /**
   * Returns these keys; undefined if one of them is not cached, or if the last reading of the database's clock is too
   * old.
   */
  keys(keyIds: ReadonlyArray<ApiKeyId>): CountedKeyRows | undefined {
    if (keyIds.length === 0) return NO_KEYS
    const sinceRead = performance.now() - (this.#readAt?.processMillis ?? Number.NEGATIVE_INFINITY)
    if (this.#readAt === undefined || sinceRead > MAX_CLOCK_AGE_MILLIS) return undefined
    const rows = new Map<ApiKeyId, CountedKeyRow>()
    for (const keyId of keyIds) {
      const row = this.#keys.get(keyId)
      if (row === undefined) return undefined
      rows.set(keyId, row)
    }
    return { rows, nowMillis: Math.floor(this.#readAt.databaseMillis + sinceRead) }
  }

  setKeys(keys: WorkingKeys): void {
    if (this.#keys.size > MAX_KEYS) this.#keys.clear()
    for (const [keyId, row] of keys.written) this.#keys.set(keyId, row)
  }

  /** Records the time of the database, which a transaction has just read. */
  setClock(databaseMillis: number): void {
    this.#readAt = { databaseMillis, processMillis: performance.now() }
  }

  deleteKeys(keyIds: ReadonlyArray<ApiKeyId>): void {
    for (const keyId of keyIds) this.#keys.delete(keyId)
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
