/**
 * One transaction of the ledger: it settles what has ended, then admits what has arrived.
 *
 *     take the holds, lock the accounts, read the keys      one round trip
 *     decide, one request after the other                   in memory, by the domain
 *     write accounts, settlements and holds, commit         one round trip
 *
 * Settlements come first, so that what they give back serves the admissions of the same transaction.
 */
import type { Admission, Settled, Settling } from "@tollgate/application/ports/InferenceLedger"
import type { NodeId } from "@tollgate/application/ports/Nodes"
import type { Ending } from "@tollgate/domain/inference/Charge"
import { type InsufficientBalance, InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/RequestId"
import { decideHold } from "@tollgate/domain/ledger/Hold"
import * as Either from "effect/Either"
import type { Ask, Decided, Statement } from "./DedicatedConnection.ts"
import { insertHolds, type NewHold, takeHolds } from "./HoldRows.ts"
import { LockedAccounts } from "./LockedAccounts.ts"
import { readPrices } from "./Prices.ts"
import { insertSettlements, type NewSettlement, settleTaken } from "./SettlementRows.ts"

export interface SettlingEntry {
  readonly settling: Settling
  /** What an attempt came to whose commit nobody knows the outcome of. */
  readonly perhaps: Settled | undefined
}

export interface AdmissionEntry {
  readonly admission: Admission
  /** An attempt may have made the hold; nobody knows the outcome of its commit. */
  readonly perhaps: boolean
}

export interface LedgerWork {
  readonly settlings: ReadonlyArray<SettlingEntry>
  readonly admissions: ReadonlyArray<AdmissionEntry>
}

/** `gone`: an earlier attempt made the hold, and it has been settled since. */
export type Admitted = Either.Either<"held" | "gone", InsufficientBalance | InvalidApiKey>

/** In the order of the work. */
export interface LedgerOutcome {
  readonly settled: ReadonlyArray<Settled | undefined>
  readonly admitted: ReadonlyArray<Admitted>
}

export const ledgerTransaction =
  (nodeId: NodeId, { settlings, admissions }: LedgerWork) =>
  async (ask: Ask): Promise<Decided<LedgerOutcome>> => {
    const owners = [...settlings.map(({ settling }) => settling.admission), ...admissions.map((a) => a.admission)]
    const [taken, prices, accounts, keys, traces] = await Promise.all([
      takeHolds(
        ask,
        settlings.map(({ settling }) => settling.admission.requestId)
      ),
      readPrices(
        ask,
        settlings.map(({ settling }) => settling.admission.priceId)
      ),
      LockedAccounts.lock(
        ask,
        owners.map(({ principal: { userId }, modelId }) => ({ userId, modelId }))
      ),
      validKeys(ask, admissions),
      tracesOf(ask, settlings, admissions)
    ])

    const settlements: Array<NewSettlement> = []
    const settled = settlings.map(({ settling: { admission, measure }, perhaps }): Settled | undefined => {
      const hold = taken.get(admission.requestId)
      if (hold === undefined) {
        return perhaps !== undefined && traces.get(admission.requestId) === perhaps.measured.ending
          ? perhaps
          : undefined
      }
      taken.delete(admission.requestId)
      const row = settleTaken(hold, measure(), prices, accounts)
      settlements.push(row)
      return { measured: row.measured, settlement: row.settlement }
    })

    const holds: Array<NewHold> = []
    const admitted = admissions.map(({ admission }): Admitted => {
      const trace = traces.get(admission.requestId)
      if (trace !== undefined) return trace === "held" ? HELD : GONE
      if (!keys.has(admission.principal.keyId)) return KEY_INVALID
      const owner = { userId: admission.principal.userId, modelId: admission.modelId }
      return Either.map(decideHold(admission.estimate, admission.price, accounts.of(owner)), (held) => {
        accounts.keep(owner, held)
        holds.push({ admission, held, nodeId })
        return "held"
      })
    })

    return {
      result: { settled, admitted },
      writes: [
        ...accounts.writes,
        ...(settlements.length > 0 ? [insertSettlements(settlements)] : []),
        ...(holds.length > 0 ? [insertHolds(holds)] : [])
      ]
    }
  }

const HELD: Admitted = Either.right("held")
const GONE: Admitted = Either.right("gone")
const KEY_INVALID: Admitted = Either.left(new InvalidApiKey({ reason: "unknown" }))

/** The keys that may still be used, whatever any cache said. */
const validKeys = async (ask: Ask, admissions: ReadonlyArray<AdmissionEntry>): Promise<Set<unknown>> => {
  if (admissions.length === 0) return new Set()
  const keyIds = new Set(admissions.map(({ admission }) => admission.principal.keyId))
  return new Set((await ask(VALID_KEYS, [[...keyIds]])).map(([id]) => id))
}

const VALID_KEYS: Statement = {
  name: "valid_keys",
  text: `
    SELECT api_key.id FROM api_key JOIN app_user ON app_user.id = api_key.user_id
    WHERE api_key.id = ANY ($1::uuid[]) AND api_key.revoked_at IS NULL AND app_user.status = 'active'`
}

/** What attempts of unknown outcome left behind: a hold, or the ending of a settlement. */
const tracesOf = async (
  ask: Ask,
  settlings: ReadonlyArray<SettlingEntry>,
  admissions: ReadonlyArray<AdmissionEntry>
): Promise<Map<RequestId, "held" | Ending>> => {
  const requestIds = [
    ...settlings.filter(({ perhaps }) => perhaps !== undefined).map(({ settling }) => settling.admission.requestId),
    ...admissions.filter(({ perhaps }) => perhaps).map(({ admission }) => admission.requestId)
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
