/**
 * The balances a transaction decides over: as they were read, and running from one decision to the next.
 *
 * What was read and what comes of it are written together, in the order of the accounts' ids: a row that is no longer
 * as it was read refuses the whole transaction, whether it was locked when it was read or only remembered.
 */
import type { ModelId } from "@tollgate/domain/catalog/Model"
import type { UserId } from "@tollgate/domain/customer/User"
import type { Account, AccountId, PaygAccount, PlanAccount } from "@tollgate/domain/ledger/Account"
import type { Balances } from "@tollgate/domain/ledger/Hold"
import { arrayOf } from "../client/SqlValues.ts"
import type { Part, WriteStatement } from "./WriteStatement.ts"

/** Whose balances, for which model. */
export interface Owner {
  readonly userId: UserId
  readonly modelId: ModelId
}

/** What is known of a user's accounts. A plan that is known not to exist is there as `undefined`. */
export interface Standing {
  readonly payg: PaygAccount | undefined
  readonly plans: ReadonlyMap<ModelId, PlanAccount | undefined>
}

/** The same, still being filled in or decided over. */
export interface OpenStanding extends Standing {
  payg: PaygAccount | undefined
  readonly plans: Map<ModelId, PlanAccount | undefined>
}

export class WorkingBalances {
  readonly #read: ReadonlyMap<UserId, Standing>
  readonly #running = new Map<UserId, OpenStanding>()

  constructor(read: ReadonlyMap<UserId, Standing>) {
    this.#read = read
    for (const [userId, { payg, plans }] of read) this.#running.set(userId, { payg, plans: new Map(plans) })
  }

  of({ userId, modelId }: Owner): Balances {
    const standing = this.#running.get(userId)
    return { payg: standing?.payg, plan: standing?.plans.get(modelId) }
  }

  /** What the next decision over the same balances starts from. */
  keep({ userId, modelId }: Owner, { payg, plan }: Balances): void {
    const standing = this.#running.get(userId)
    if (standing === undefined) return
    standing.payg = payg
    if (plan !== undefined) standing.plans.set(modelId, plan)
  }

  /** As they will be once everything is written. */
  get standings(): ReadonlyMap<UserId, Standing> {
    return this.#running
  }

  /** Writes what changed, where the rows are locked. */
  get changes(): ReadonlyArray<WriteStatement> {
    const changed = this.#steps().filter(([before, after]) => before !== after)
    return changed.length === 0 ? [] : [update(changed, [], [])]
  }

  /** Writes what changed and refuses unless everything that was only remembered is so: amounts, and what is missing. */
  get claims(): ReadonlyArray<WriteStatement> {
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
      const now = this.#running.get(userId)
      if (payg !== undefined) steps.push([payg, now?.payg ?? payg])
      for (const [modelId, plan] of plans) if (plan !== undefined) steps.push([plan, now?.plans.get(modelId) ?? plan])
    }
    return steps.sort(([a], [b]) => (a.id < b.id ? -1 : 1))
  }
}

/** An account before and after. */
type Step = readonly [before: Account<bigint>, after: Account<bigint>]

const update = (
  steps: ReadonlyArray<Step>,
  noPayg: ReadonlyArray<UserId>,
  noPlan: ReadonlyArray<Owner>
): WriteStatement => ({
  part: UPDATE,
  values: inPlace({
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

const inPlace = (values: Named<ReadonlyArray<string | bigint>>) => PARAMETERS.map((name) => arrayOf(values[name]))

const parametersFrom = (first: number) =>
  Object.fromEntries(PARAMETERS.map((name, place) => [name, `$${first + place}`])) as Named<string>

// Rows are visited, and so locked, in the order of the arrays, which is that of the ids.
const UPDATE: Part = {
  name: "accounts",
  writes: (first) => {
    const { creditsBefore, debits, debitsBefore, id, pending, pendingBefore } = parametersFrom(first)
    return `
    changed AS (
      UPDATE account SET debits_posted = step.debits, debits_pending = step.pending
      FROM unnest(${id}::uuid[], ${creditsBefore}::bigint[], ${debitsBefore}::bigint[], ${pendingBefore}::bigint[],
          ${debits}::bigint[], ${pending}::bigint[])
        AS step (id, credits_before, debits_before, pending_before, debits, pending)
      WHERE account.id = step.id AND account.credits_posted = step.credits_before
        AND account.debits_posted = step.debits_before AND account.debits_pending = step.pending_before
      RETURNING account.id)`
  },
  precondition: (first) => {
    const { id, noPayg, noPlanModel, noPlanUser } = parametersFrom(first)
    return `(SELECT count(*) FROM changed) = cardinality(${id}::uuid[])
      AND NOT EXISTS (SELECT FROM account WHERE kind = 'payg' AND user_id = ANY (${noPayg}::uuid[]))
      AND NOT EXISTS (SELECT FROM unnest(${noPlanUser}::uuid[], ${noPlanModel}::uuid[]) AS none (user_id, model_id)
        JOIN account ON account.kind = 'plan' AND account.user_id = none.user_id AND account.model_id = none.model_id)`
  }
}
