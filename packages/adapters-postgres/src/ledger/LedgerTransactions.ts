/**
 * One transaction of the ledger: it settles what has ended, then admits what has arrived.
 *
 * Where the lane remembers every balance and hold it needs, it decides over those and everything is one statement;
 * should a row have changed meanwhile, the database refuses all of it. Then, and where something is not known:
 *
 *     lock the holds and the accounts, read the keys        one round trip
 *     decide                                                in memory
 *     write accounts, settlements and holds, commit         one round trip
 *
 * Where somebody keeps one of those rows for longer than rows are waited for, the same is done once more with the rows
 * that are free, and the users of the others are left out.
 */
import type { NodeId } from "@tollgate/application/operations/Nodes"
import type { Ending } from "@tollgate/domain/inference/Charge"
import { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Either from "effect/Either"
import { isLocked, isStale } from "../client/SqlErrorClass.ts"
import { BalanceCache } from "./BalanceCache.ts"
import type { Ask, Call, Decided, DedicatedConnection, Patience, Statement } from "./DedicatedConnection.ts"
import { validKeys } from "./HoldRows.ts"
import { type Facts, LedgerDecisions } from "./LedgerDecisions.ts"
import {
  type AdmissionEntry,
  type Admitted,
  divided,
  type LedgerOutcome,
  type LedgerWork,
  ownersOf
} from "./LedgerWork.ts"
import { type LockRows, lockAllRows, lockFreeRows } from "./LockedRows.ts"

/** Transactions that read again after the memory was found out of date: another node serves the same users. */
const READING_AFTER_STALE = 8

/** The transactions of one lane, one at a time. */
export class LedgerTransactions {
  readonly #nodeId: NodeId
  readonly #connection: DedicatedConnection
  readonly #memory = new BalanceCache()
  #reading = 0

  constructor(nodeId: NodeId, connection: DedicatedConnection) {
    this.#nodeId = nodeId
    this.#connection = connection
  }

  /**
   * `doubt` takes what it came to when the connection breaks at the commit. Without patience a user whose rows somebody
   * else has is left out at once.
   */
  async carryOut(
    work: LedgerWork,
    doubt: (outcome: LedgerOutcome) => void,
    patience: Patience
  ): Promise<LedgerOutcome> {
    if (patience === "none") return this.#read(work, doubt, lockFreeRows)
    const remembered = this.#reading > 0 ? undefined : this.#fromMemory(work)
    if (remembered !== undefined) {
      const { decisions, write } = remembered
      try {
        await this.#connection.write(write, () => doubt(decisions.outcome))
        return this.#committed(decisions)
      } catch (error) {
        this.#memory.forget(ownersOf(work))
        if (!isStale(error)) throw error
        this.#reading = READING_AFTER_STALE
      }
    }
    if (this.#reading > 0) this.#reading -= 1
    try {
      return await this.#read(work, doubt, lockAllRows)
    } catch (error) {
      if (!isLocked(error)) throw error
      return this.#read(work, doubt, lockFreeRows)
    }
  }

  async #read(work: LedgerWork, doubt: (outcome: LedgerOutcome) => void, lock: LockRows): Promise<LedgerOutcome> {
    const decisions = await this.#connection.transact(
      (ask) => this.#fromDatabase(work, ask, lock),
      ({ outcome }) => doubt(outcome)
    )
    return this.#committed(decisions)
  }

  #committed(decisions: LedgerDecisions): LedgerOutcome {
    decisions.remember(this.#memory)
    return decisions.outcome
  }

  /** Undefined where memory is not enough, or refuses somebody: only what is read now may do that. */
  #fromMemory(work: LedgerWork): { decisions: LedgerDecisions; write: Call } | undefined {
    const { settlings, admissions } = work
    if (
      settlings.some(({ maybeCommitted }) => maybeCommitted !== undefined) ||
      admissions.some(({ maybeCommitted }) => maybeCommitted)
    )
      return undefined
    const accounts = this.#memory.accounts(ownersOf(work))
    if (accounts === undefined) return undefined
    const decisions = new LedgerDecisions(work, accounts, {
      hold: (requestId) => this.#memory.hold(requestId),
      settledBefore: nothingKnown,
      admittedBefore: nothingKnown
    })
    const { settled, admitted } = decisions.outcome
    if (settled.includes(undefined) || admitted.some(Either.isLeft)) return undefined
    const write = decisions.write(this.#nodeId, accounts.claims)
    return write && { decisions, write }
  }

  async #fromDatabase(work: LedgerWork, ask: Ask, lock: LockRows): Promise<Decided<LedgerDecisions>> {
    const [{ accounts, contended: busy, holds }, keys, traces] = await Promise.all([
      lock(ask, work),
      keysOf(ask, work.admissions),
      tracesOf(ask, work)
    ])
    const { others, theirs } = divided(work, busy)
    // Whoever has their rows is about to change them.
    this.#memory.forget(ownersOf(theirs))
    for (const { settling } of others.settlings) this.#memory.dropHold(settling.admission.requestId)
    const facts: Facts = {
      hold: (requestId) => holds.get(requestId),
      settledBefore: ({ settling, maybeCommitted }) =>
        maybeCommitted !== undefined && traces.get(settling.admission.requestId) === maybeCommitted.measured.ending
          ? maybeCommitted
          : undefined,
      admittedBefore: ({ requestId, principal }) => {
        const trace = traces.get(requestId)
        if (trace !== undefined) return trace === "held" ? HELD : GONE
        return keys.has(principal.keyId) ? undefined : KEY_INVALID
      }
    }
    const decisions = new LedgerDecisions(others, accounts, facts, busy)
    return { result: decisions, write: decisions.write(this.#nodeId, accounts.changes) }
  }
}

const nothingKnown = () => undefined

const HELD: Admitted = Either.right("held")
const GONE: Admitted = Either.right("gone")
const KEY_INVALID: Admitted = Either.left(new InvalidApiKey({ reason: "unknown" }))

const keysOf = async (ask: Ask, admissions: ReadonlyArray<AdmissionEntry>): Promise<Set<unknown>> => {
  if (admissions.length === 0) return new Set()
  const keyIds = new Set(admissions.map(({ admission }) => admission.principal.keyId))
  return new Set((await ask(READ_KEYS, [[...keyIds]])).map(([id]) => id))
}

const READ_KEYS: Statement = { name: "valid_keys", text: validKeys("$1") }

/** What attempts of unknown outcome left behind: a hold, or the ending of a settlement. */
const tracesOf = async (ask: Ask, { settlings, admissions }: LedgerWork): Promise<Map<RequestId, "held" | Ending>> => {
  const requestIds = [
    ...settlings
      .filter(({ maybeCommitted }) => maybeCommitted !== undefined)
      .map(({ settling }) => settling.admission.requestId),
    ...admissions.filter(({ maybeCommitted }) => maybeCommitted).map(({ admission }) => admission.requestId)
  ]
  if (requestIds.length === 0) return new Map()
  return new Map((await ask(TRACES, [requestIds])) as unknown as ReadonlyArray<[RequestId, "held" | Ending]>)
}

const TRACES: Statement = {
  name: "traces",
  text: `
    SELECT request_id, 'held' FROM inference_hold WHERE request_id = ANY ($1::uuid[])
    UNION ALL
    SELECT request_id, ending FROM settlement WHERE request_id = ANY ($1::uuid[])`
}
