/**
 * Stores the balances for the decisions of a transaction: the values that were read, and the current values. Each
 * decision changes the current values, and the next decision uses them.
 *
 * The write statement compares the accounts in the database with the values that were read. If a value differs, the
 * database refuses the whole transaction. This applies to values from the cache and also to values that were read with
 * a lock.
 */
import type { ModelId } from "@tollgate/domain/catalog/Model"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Account, AccountId, PaygAccount, PlanAccount } from "@tollgate/domain/ledger/Account"
import type { Balances } from "@tollgate/domain/ledger/Hold"
import { arrayOf } from "../client/SqlValues.ts"
import type { Part, WriteStatement } from "./WriteStatement.ts"

/** The user and the model of a request, which select the accounts that can pay for it. */
export interface Owner {
  readonly userId: UserId
  readonly modelId: ModelId
}

/**
 * The accounts of a user. The value `undefined` states that the account does not exist. A plan without an entry was not
 * read.
 */
export interface UserBalances {
  readonly payg: PaygAccount | undefined
  readonly plans: ReadonlyMap<ModelId, PlanAccount | undefined>
}

export interface MutableUserBalances extends UserBalances {
  payg: PaygAccount | undefined
  readonly plans: Map<ModelId, PlanAccount | undefined>
}

export class WorkingBalances {
  readonly #read: ReadonlyMap<UserId, UserBalances>
  readonly #working = new Map<UserId, MutableUserBalances>()

  constructor(read: ReadonlyMap<UserId, UserBalances>) {
    this.#read = read
    for (const [userId, { payg, plans }] of read) this.#working.set(userId, { payg, plans: new Map(plans) })
  }

  /** Returns the balances that were read, without these users. */
  without(users: ReadonlySet<UserId>): WorkingBalances {
    return new WorkingBalances(new Map([...this.#read].filter(([userId]) => !users.has(userId))))
  }

  of({ userId, modelId }: Owner): Balances {
    const user = this.#working.get(userId)
    return { payg: user?.payg, plan: user?.plans.get(modelId) }
  }

  /** Sets the balances that the next decision about the same accounts uses. */
  set({ userId, modelId }: Owner, { payg, plan }: Balances): void {
    const user = this.#working.get(userId)
    if (user === undefined) return
    user.payg = payg
    if (plan !== undefined) user.plans.set(modelId, plan)
  }

  /** The balances after all decisions. */
  get users(): ReadonlyMap<UserId, UserBalances> {
    return this.#working
  }

  /** Statements that write the changed accounts, after their rows were locked and read. */
  get changes(): ReadonlyArray<WriteStatement> {
    const changed = this.#steps().filter(([before, after]) => before !== after)
    return changed.length === 0 ? [] : [update(changed, [], [])]
  }

  /**
   * Statements that write the accounts after decisions from cached rows. The database refuses them if an amount differs
   * from the cache, or if an account exists that the cache records as missing.
   */
  get changesIfFresh(): ReadonlyArray<WriteStatement> {
    const noPayg: Array<UserId> = []
    const noPlan: Array<Owner> = []
    for (const [userId, { payg, plans }] of this.#read) {
      if (payg === undefined) noPayg.push(userId)
      for (const [modelId, plan] of plans) if (plan === undefined) noPlan.push({ userId, modelId })
    }
    return [update(this.#steps(), noPayg, noPlan)]
  }

  #steps(): Array<Step> {
    const steps: Array<Step> = []
    for (const [userId, { payg, plans }] of this.#read) {
      const now = this.#working.get(userId)
      if (payg !== undefined) steps.push([payg, now?.payg ?? payg])
      for (const [modelId, plan] of plans) if (plan !== undefined) steps.push([plan, now?.plans.get(modelId) ?? plan])
    }
    return steps.sort(([a], [b]) => (a.id < b.id ? -1 : 1))
  }
}

/** An account before and after the decisions. */
type Step = readonly [before: Account<bigint>, after: Account<bigint>]

const update = (
  steps: ReadonlyArray<Step>,
  noPayg: ReadonlyArray<UserId>,
  noPlan: ReadonlyArray<Owner>
): WriteStatement => ({
  part: UPDATE,
  values: parameterValues({
    id: steps.map(([{ id }]): AccountId => id),
    creditsBefore: steps.map(([{ creditsPosted }]) => creditsPosted),
    debitsBefore: steps.map(([{ debitsPosted }]) => debitsPosted),
    pendingBefore: steps.map(([{ debitsPending }]) => debitsPending),
    debits: steps.map(([, { debitsPosted }]) => debitsPosted),
    pending: steps.map(([, { debitsPending }]) => debitsPending),
    noPayg,
    noPlanUser: noPlan.map(({ userId }) => userId),
    noPlanModel: noPlan.map(({ modelId }) => modelId)
  })
})

const PARAMETERS = [
  "id",
  "creditsBefore",
  "debitsBefore",
  "pendingBefore",
  "debits",
  "pending",
  "noPayg",
  "noPlanUser",
  "noPlanModel"
] as const
type Named<A> = Record<(typeof PARAMETERS)[number], A>

const parameterValues = (values: Named<ReadonlyArray<string | bigint>>) =>
  PARAMETERS.map((name) => arrayOf(values[name]))

const parametersFrom = (first: number) =>
  Object.fromEntries(PARAMETERS.map((name, place) => [name, `$${first + place}`])) as Named<string>

// The arrays are sorted by id, so the statement locks the rows in the order of their ids.
const UPDATE: Part = {
  name: "accounts",
  writes: (first) => {
    const { creditsBefore, debits, debitsBefore, id, pending, pendingBefore } = parametersFrom(first)
    return `
    changed AS (
      UPDATE account SET debits_posted = step.debits, debits_pending = step.pending
      FROM (SELECT unnest(${id}::uuid[]) AS id, unnest(${creditsBefore}::bigint[]) AS credits_before,
          unnest(${debitsBefore}::bigint[]) AS debits_before, unnest(${pendingBefore}::bigint[]) AS pending_before,
          unnest(${debits}::bigint[]) AS debits, unnest(${pending}::bigint[]) AS pending) AS step
      WHERE account.id = step.id AND account.credits_posted = step.credits_before
        AND account.debits_posted = step.debits_before AND account.debits_pending = step.pending_before
      RETURNING account.id)`
  },
  precondition: (first) => {
    const { id, noPayg, noPlanModel, noPlanUser } = parametersFrom(first)
    return `(SELECT count(*) FROM changed) = cardinality(${id}::uuid[])
      AND NOT EXISTS (SELECT FROM account WHERE kind = 'payg' AND user_id = ANY (${noPayg}::uuid[]))
      AND NOT EXISTS (SELECT FROM unnest(${noPlanUser}::uuid[], ${noPlanModel}::uuid[]) AS missing (user_id, model_id)
        JOIN account ON account.kind = 'plan' AND account.user_id = missing.user_id AND account.model_id = missing.model_id)`
  }
}
