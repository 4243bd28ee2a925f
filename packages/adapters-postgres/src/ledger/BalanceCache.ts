/**
 * What a lane remembers of balances and holds: as its last transactions left them.
 *
 * Nothing is ever charged by memory alone. A decision over what is remembered is written by a transaction that is
 * refused when a row is not as remembered, so a memory that is out of date costs a second attempt and nothing else.
 */
import type { UserId } from "@tollgate/domain/customer/User"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import { type OpenStanding, type Owner, WorkingBalances } from "./WorkingBalances.ts"

/** Users at most; past them everything is forgotten, which costs each of them one reading. */
const USERS = 10_000

export class BalanceCache {
  readonly #standings = new Map<UserId, OpenStanding>()
  readonly #holds = new Map<RequestId, Hold>()

  /** The balances of these owners, unless one of them is not known. */
  accounts(owners: ReadonlyArray<Owner>): WorkingBalances | undefined {
    const recalled = new Map<UserId, OpenStanding>()
    for (const { userId, modelId } of owners) {
      const known = this.#standings.get(userId)
      if (known === undefined || !known.plans.has(modelId)) return undefined
      const standing = recalled.get(userId)
      if (standing === undefined) {
        recalled.set(userId, { payg: known.payg, plans: new Map([[modelId, known.plans.get(modelId)]]) })
      } else standing.plans.set(modelId, known.plans.get(modelId))
    }
    return new WorkingBalances(recalled)
  }

  /** The hold of a request this lane admitted and has not settled. */
  hold(requestId: RequestId): Hold | undefined {
    return this.#holds.get(requestId)
  }

  keepAccounts(accounts: WorkingBalances): void {
    if (this.#standings.size > USERS) this.#standings.clear()
    for (const [userId, { payg, plans }] of accounts.standings) {
      const known = this.#standings.get(userId)
      if (known === undefined) this.#standings.set(userId, { payg, plans: new Map(plans) })
      else {
        known.payg = payg
        for (const [modelId, plan] of plans) known.plans.set(modelId, plan)
      }
    }
  }

  keepHold(requestId: RequestId, hold: Hold): void {
    this.#holds.set(requestId, hold)
  }

  dropHold(requestId: RequestId): void {
    this.#holds.delete(requestId)
  }

  /** Of these users nothing is known any more. */
  forget(owners: ReadonlyArray<Owner>): void {
    for (const { userId } of owners) this.#standings.delete(userId)
  }
}
