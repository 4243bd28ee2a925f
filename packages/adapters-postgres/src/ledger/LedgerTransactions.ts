/**
 * Runs the ledger transactions. Each transaction settles finished requests, then grows the holds of running requests,
 * and then admits new requests. It also settles the new requests whose responses have already arrived.
 *
 * When all balances and holds are cached, the transaction makes its decisions from the cache and writes them in one
 * statement. The database refuses the whole statement if a row differs from the cache. A transaction has the following
 * steps after such a refusal, and in other cases, for example when a row is not cached, or when a request would be
 * refused:
 *
 *     lock holds, accounts and limited keys, read the API keys    one round trip
 *     decide                                                      in memory
 *     write accounts, settlements and holds, commit               one round trip
 *
 * When another session holds a row lock for longer than the lock timeout, the transaction is repeated without waiting
 * for these locks. The repeated transaction skips the users of locked rows.
 */
import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import type { NodeId } from "@tollgate/application/operations/Nodes"
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { Ending } from "@tollgate/domain/inference/Charge"
import { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import * as Either from "effect/Either"
import { isLocked, isStale } from "../client/SqlErrorClass.ts"
import { BalanceCache } from "./BalanceCache.ts"
import { partition, SettledAtOnce } from "./Batch.ts"
import { WorkingKeys } from "./CountedKeys.ts"
import type { BoundStatement, Decided, DedicatedConnection, LockWait, Query, Statement } from "./DedicatedConnection.ts"
import { type KeyHoldColumns, validKeys, withKey } from "./HoldRows.ts"
import { type Facts, LedgerDecisions } from "./LedgerDecisions.ts"
import {
  countedKeysOf,
  type LedgerAdmission,
  type LedgerAdmitted,
  type LedgerOutcome,
  type LedgerWork,
  ledgerWork,
  ownersOf
} from "./LedgerWork.ts"
import { allRows, freeRows, type LockMode, withMissingKeys } from "./LockedRows.ts"

/**
 * Number of transactions that do not use the cache after it was stale. A stale cache usually means that another node
 * serves the same users, so the cache would soon be stale again.
 */
const UNCACHED_AFTER_STALE = 8

/** Runs the transactions of one queue, one at a time. */
export class LedgerTransactions {
  readonly #nodeId: NodeId
  readonly #connection: DedicatedConnection
  readonly #cache = new BalanceCache()
  #uncached = 0

  constructor(nodeId: NodeId, connection: DedicatedConnection) {
    this.#nodeId = nodeId
    this.#connection = connection
  }

  /**
   * Returns whether the cache has ample balances for this request. The cache contains the balances that a transaction
   * of this queue read or wrote last. Another node may have changed them since, but an ample balance is far larger than
   * the amount that other nodes can use in the meantime.
   */
  isAmple(admission: Admission): boolean {
    return this.#cache.isAmple(admission)
  }

  /**
   * Runs one transaction, and repeats it as described above. When the outcome of a commit is unknown, calls
   * `onUnknownCommit` with the results that a successful commit would have had. With `lockWait` "none", users with
   * locked rows are skipped immediately.
   */
  async run(
    work: LedgerWork,
    onUnknownCommit: (outcome: LedgerOutcome) => void,
    lockWait: LockWait
  ): Promise<LedgerOutcome> {
    if (lockWait === "none") return this.#read(work, onUnknownCommit, freeRows)
    const cached = this.#uncached > 0 ? undefined : this.#fromCache(work)
    if (cached !== undefined) {
      const { decisions, write } = cached
      try {
        await this.#connection.write(write, () => onUnknownCommit(decisions.outcome))
        return this.#committed(decisions)
      } catch (error) {
        this.#cache.deleteBalances(ownersOf(work))
        this.#cache.deleteHolds(work.extensions)
        this.#cache.deleteKeys(keysOf(work))
        if (!isStale(error)) throw error
        this.#uncached = UNCACHED_AFTER_STALE
      }
    }
    if (this.#uncached > 0) this.#uncached -= 1
    try {
      return await this.#read(work, onUnknownCommit, allRows)
    } catch (error) {
      if (!isLocked(error)) throw error
      return this.#read(work, onUnknownCommit, freeRows)
    }
  }

  async #read(
    work: LedgerWork,
    onUnknownCommit: (outcome: LedgerOutcome) => void,
    mode: LockMode
  ): Promise<LedgerOutcome> {
    const decisions = await this.#connection.transact(
      (query) => this.#fromDatabase(work, query, mode),
      ({ outcome }) => onUnknownCommit(outcome)
    )
    return this.#committed(decisions)
  }

  #committed(decisions: LedgerDecisions): LedgerOutcome {
    decisions.updateCache(this.#cache)
    return decisions.outcome
  }

  /**
   * Makes the decisions from the cache. Returns undefined when a row is not cached or when an earlier attempt may have
   * been committed. Also returns undefined when `isRefusal` is true, because such a result needs current rows.
   */
  #fromCache(work: LedgerWork): { decisions: LedgerDecisions; write: BoundStatement } | undefined {
    const { settlements, admissions } = work
    if (
      settlements.some(({ maybeCommitted }) => maybeCommitted !== undefined) ||
      admissions.some(({ maybeCommitted }) => maybeCommitted)
    )
      return undefined
    const accounts = this.#cache.balances(ownersOf(work))
    if (accounts === undefined) return undefined
    const hold = (requestId: RequestId) => this.#cache.hold(requestId)
    // The extension of a hold without a budget part writes no counts of its key. The database would therefore not
    // refuse an extension that ignores a budget which was set since the key was cached.
    if (work.extensions.some(({ request }) => hasNoBudget(hold(request.admission.requestId)))) return undefined
    const keys = this.#cache.keys(countedKeysOf(work, hold))
    if (keys === undefined) return undefined
    const decisions = new LedgerDecisions(work, accounts, new WorkingKeys(keys), {
      hold,
      settledBefore: unknownFact,
      admittedBefore: unknownFact
    })
    if (decisions.isRefusal) return undefined
    const write = decisions.write(this.#nodeId, accounts.changesIfFresh)
    return write && { decisions, write }
  }

  async #fromDatabase(work: LedgerWork, query: Query, mode: LockMode): Promise<Decided<LedgerDecisions>> {
    const [locked, valid, earlierRows] = await Promise.all([
      mode.lockRows(query, work),
      validKeysOf(query, work.admissions),
      earlierRowsOf(query, work)
    ])
    const { accounts, contended, holds, keys } = await withMissingKeys(query, work, locked, valid, mode)
    const { others, theirs } = partition(ledgerWork, work, contended)
    // The session that has locked rows of these users probably changes them, so the cached balances would be stale.
    this.#cache.deleteBalances(ownersOf(theirs))
    this.#cache.deleteKeys(keysOf(theirs))
    if (keys.rows.size > 0) this.#cache.setClock(keys.nowMillis)
    this.#cache.deleteHolds(others.settlements)
    this.#cache.deleteHolds(others.extensions)
    const facts: Facts = {
      hold: (requestId) => holds.get(requestId),
      settledBefore: ({ request, maybeCommitted }) =>
        maybeCommitted !== undefined && earlierRows.get(request.admission.requestId) === maybeCommitted.measured.ending
          ? maybeCommitted
          : undefined,
      admittedBefore: ({ admission: { requestId, principal }, settlement }) => {
        const earlier = earlierRows.get(requestId)
        const settled = settlement?.maybeCommitted
        if (settled !== undefined && earlier === settled.measured.ending)
          return Either.right(new SettledAtOnce(settled))
        if (earlier !== undefined) return typeof earlier === "string" ? GONE : Either.right(earlier)
        return valid.has(principal.keyId) ? undefined : KEY_INVALID
      }
    }
    const decisions = new LedgerDecisions(others, accounts, new WorkingKeys(keys), facts, contended)
    return { result: decisions, write: decisions.write(this.#nodeId, accounts.changes) }
  }
}

const unknownFact = () => undefined

/** Returns whether this is the hold of a limited key without a budget. */
const hasNoBudget = (hold: Hold | undefined): boolean => hold?.key !== undefined && hold.key.budgetPico === undefined

const GONE: LedgerAdmitted = Either.right("gone")
const KEY_INVALID: LedgerAdmitted = Either.left(new InvalidApiKey({ reason: "unknown" }))

/** Returns the keys of all requests. */
const keysOf = ({ settlements, extensions, admissions }: LedgerWork): ReadonlyArray<ApiKeyId> => [
  ...[...settlements, ...extensions].map(({ request }) => request.admission.principal.keyId),
  ...admissions.map(({ admission }) => admission.principal.keyId)
]

/** Returns the valid keys of the admissions, and whether each key is limited. */
const validKeysOf = async (
  query: Query,
  admissions: ReadonlyArray<LedgerAdmission>
): Promise<ReadonlyMap<ApiKeyId, boolean>> => {
  if (admissions.length === 0) return new Map()
  const keyIds = new Set(admissions.map(({ admission }) => admission.principal.keyId))
  return new Map((await query(READ_KEYS, [[...keyIds]])) as unknown as ReadonlyArray<[ApiKeyId, boolean]>)
}

const READ_KEYS: Statement = { name: "valid_keys", text: validKeys("$1") }

/**
 * The row of a request whose earlier attempt has an unknown commit outcome: its hold, or the ending of its settlement.
 * The attempt may have written this row. A sweep of another node can also have settled the request, if it took this
 * node for dead.
 */
type EarlierRow = Hold | Ending

const earlierRowsOf = async (
  query: Query,
  { settlements, admissions }: LedgerWork
): Promise<Map<RequestId, EarlierRow>> => {
  const requestIds = [
    ...settlements
      .filter(({ maybeCommitted }) => maybeCommitted !== undefined)
      .map(({ request }) => request.admission.requestId),
    ...admissions.filter(({ maybeCommitted }) => maybeCommitted).map(({ admission }) => admission.requestId)
  ]
  if (requestIds.length === 0) return new Map()
  const rows = (await query(EARLIER_ROWS, [requestIds])) as unknown as ReadonlyArray<EarlierColumns>
  return new Map(rows.map(([id, ending, plan, payg, ...key]) => [id, ending ?? withKey(plan, payg, key)]))
}

type EarlierColumns = readonly [RequestId, Ending | null, planTokens: bigint, paygPico: bigint, ...key: KeyHoldColumns]

const EARLIER_ROWS: Statement = {
  name: "earlier_rows",
  text: `
    SELECT request_id, NULL::text, plan_tokens, payg_pico, key_pico, key_tokens, key_window
    FROM open_request WHERE request_id = ANY ($1::uuid[])
    UNION ALL
    SELECT request_id, ending, plan_tokens, payg_pico, NULL, NULL, NULL FROM settlement WHERE request_id = ANY ($1::uuid[])`
}
