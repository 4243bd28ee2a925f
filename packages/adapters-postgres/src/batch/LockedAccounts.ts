/**
 * The balances a transaction decides over: locked, and running from one decision to the next.
 *
 * Every transaction locks its accounts in one statement in the order of their ids, and holds before accounts, so that
 * no two of them wait for each other.
 */
import type { ModelId } from "@tollgate/domain/catalog/Model"
import type { UserId } from "@tollgate/domain/customer/User"
import { type Account, AccountId } from "@tollgate/domain/ledger/Account"
import type { Balances } from "@tollgate/domain/ledger/Hold"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { Ask, Call, Rows, Statement } from "./DedicatedConnection.ts"
import { arrayOf } from "./MultiRowInsert.ts"

/** Whose balances, for which model. */
export interface Owner {
  readonly userId: UserId
  readonly modelId: ModelId
}

export class LockedAccounts {
  readonly #payg = new Map<string, Balances["payg"]>()
  readonly #plans = new Map<string, Balances["plan"]>()
  readonly #changed = new Map<AccountId, Account<bigint>>()

  /** Locks the accounts that may pay for what these users ask of these models. */
  static async lock(ask: Ask, owners: ReadonlyArray<Owner>): Promise<LockedAccounts> {
    const users = new Set(owners.map(({ userId }) => userId))
    const models = new Set(owners.map(({ modelId }) => modelId))
    return new LockedAccounts(await ask(LOCK, [[...users], [...models]]))
  }

  private constructor(rows: Rows) {
    for (const row of rows) {
      const [id, userId, modelId, credits, debits, pending] = row as AccountRow
      if (modelId === null) this.#payg.set(userId, account(UsdPico, id, credits, debits, pending))
      else this.#plans.set(userId + modelId, account(Tokens, id, credits, debits, pending))
    }
  }

  of({ userId, modelId }: Owner): Balances {
    return { payg: this.#payg.get(userId), plan: this.#plans.get(userId + modelId) }
  }

  /** What the next decision over the same balances starts from. */
  keep({ userId, modelId }: Owner, { payg, plan }: Balances): void {
    if (payg !== undefined && payg !== this.#payg.get(userId)) {
      this.#payg.set(userId, payg)
      this.#changed.set(payg.id, payg)
    }
    if (plan !== undefined && plan !== this.#plans.get(userId + modelId)) {
      this.#plans.set(userId + modelId, plan)
      this.#changed.set(plan.id, plan)
    }
  }

  get writes(): ReadonlyArray<Call> {
    if (this.#changed.size === 0) return []
    const accounts = [...this.#changed.values()]
    const values = [
      arrayOf(accounts.map(({ id }) => id)),
      arrayOf(accounts.map(({ debitsPosted }) => debitsPosted)),
      arrayOf(accounts.map(({ debitsPending }) => debitsPending))
    ]
    return [{ statement: UPDATE, values }]
  }
}

type AccountRow = readonly [
  id: string,
  userId: string,
  modelId: string | null,
  credits: bigint,
  debits: bigint,
  pending: bigint
]

const account = <Unit extends bigint>(
  unit: (amount: bigint) => Unit,
  id: string,
  credits: bigint,
  debits: bigint,
  pending: bigint
): Account<Unit> => ({
  id: AccountId(id),
  creditsPosted: unit(credits),
  debitsPosted: unit(debits),
  debitsPending: unit(pending)
})

// A plan of one of the users for another's model may be locked needlessly; that costs less than looking for pairs.
const LOCK: Statement = {
  name: "lock_accounts",
  text: `
    SELECT id, user_id, model_id, credits_posted, debits_posted, debits_pending FROM account
    WHERE (kind = 'payg' AND user_id = ANY ($1::uuid[]))
      OR (kind = 'plan' AND user_id = ANY ($1::uuid[]) AND model_id = ANY ($2::uuid[]))
    ORDER BY id FOR NO KEY UPDATE`
}

const UPDATE: Statement = {
  name: "update_accounts",
  text: `
    UPDATE account SET debits_posted = after.debits_posted, debits_pending = after.debits_pending
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS after (id, debits_posted, debits_pending)
    WHERE account.id = after.id`
}
