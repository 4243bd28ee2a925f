/**
 * The invariants of limited keys: the counts of a key are the sums over its holds and settlements, and no decision
 * exceeds a limit (docs/reference/key-limits.md).
 */
import type { Admission, Extension } from "@tollgate/application/ledger/InferenceLedger"
import type { Hold } from "@tollgate/domain/ledger/Hold"
import { availableBudget, type CountedKey, countsAt, RATE_WINDOW_MILLIS } from "@tollgate/domain/ledger/KeyCounts"
import { decideKeyHold, type KeyBudgetExceeded, type KeyRateLimited } from "@tollgate/domain/ledger/KeyHold"
import * as Price from "@tollgate/domain/ledger/Price"
import { toUsdPico, UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { dateOf } from "@tollgate/domain/rankings/JakartaCalendar"
import { Either } from "effect"
import type { CountedKeyRow } from "./database/CountedKeys.ts"
import type { Database } from "./database/Database.ts"
import type { RequestRow, SettlementRow } from "./database/Rows.ts"

/** A committed version of a limited key; undefined if the key was not limited. */
interface Version {
  readonly atMillis: number
  readonly key: CountedKey | undefined
}

interface Seen {
  readonly row: CountedKeyRow
  readonly begun: number
  readonly isCounted: boolean
}

/** The holds and settlements of one key that a commit has written. */
interface Changes {
  readonly admitted: Array<RequestRow>
  /** The settlements, with the last committed holds. */
  readonly settled: Array<readonly [SettlementRow, RequestRow]>
  /** The settlements of requests that were admitted in the same transaction. */
  readonly settledAtOnce: Array<SettlementRow>
  /** Whether a hold has set aside more of the budget. */
  hasGrown: boolean
}

/** A node adds the time that its own clock measures to a cached time of the database. That clock can be 10 % fast. */
const CLOCK_ERROR_MILLIS = 10_000

export class KeyInvariants {
  readonly #database: Database
  readonly #require: (holds: boolean, message: () => string) => void
  readonly #holds = new Map<string, RequestRow>()
  readonly #seen = new Map<string, Seen>()
  readonly #versions = new Map<string, Array<Version>>()
  /** The budget part of the hold that the node of a request knows. */
  readonly #known = new Map<string, bigint | undefined>()
  /** Requests that had no budget part at some time, so that they may have delivered more than a later part covers. */
  readonly #unbounded = new Set<string>()
  /** The readings of the time of day directly before and after it was changed. */
  readonly #jumps: Array<{ readonly atMillis: number; readonly times: ReadonlyArray<number> }> = []
  #latestTime = Number.NEGATIVE_INFINITY

  constructor(database: Database, require: (holds: boolean, message: () => string) => void) {
    this.#database = database
    this.#require = require
  }

  /** Records that the clock of the database will be changed by this amount. */
  clockChanges(millis: number): void {
    const { nowMillis, time } = this.#database
    this.#latestTime = Math.max(this.#latestTime, nowMillis)
    this.#jumps.push({ atMillis: time.now, times: [nowMillis, nowMillis + millis] })
  }

  checkRows(newSettlements: ReadonlyArray<SettlementRow>, isStream: (requestId: string) => boolean): void {
    const { countedKeys, requests } = this.#database
    if (countedKeys.cells.size === 0) return
    const changes = new Map<string, Changes>()
    const changesOf = (keyId: string): Changes => {
      const known = changes.get(keyId)
      if (known !== undefined) return known
      const made: Changes = { admitted: [], settled: [], settledAtOnce: [], hasGrown: false }
      changes.set(keyId, made)
      return made
    }
    const open = new Map<string, { pending: bigint; requests: number }>()
    for (const settlement of newSettlements) {
      const hold = this.#holds.get(settlement.requestId)
      if (hold === undefined) {
        changesOf(settlement.keyId).settledAtOnce.push(settlement)
        continue
      }
      this.#holds.delete(settlement.requestId)
      if (hold.keyTokens !== null) changesOf(hold.keyId).settled.push([settlement, hold])
      this.#checkCost(settlement, hold, isStream)
    }
    for (const row of requests.rows()) {
      const { keyId, keyPico, keyTokens, requestId } = row
      const before = this.#holds.get(requestId)
      this.#holds.set(requestId, row)
      if (keyTokens === null) {
        this.#require(keyPico === null, () => `${requestId} has a budget part although its key is not limited`)
        continue
      }
      if (keyPico === null) this.#unbounded.add(requestId)
      const sums = open.get(keyId) ?? { pending: 0n, requests: 0 }
      open.set(keyId, { pending: sums.pending + (keyPico ?? 0n), requests: sums.requests + 1 })
      if (before === undefined) changesOf(keyId).admitted.push(row)
      if ((keyPico ?? 0n) > (before?.keyPico ?? 0n)) changesOf(keyId).hasGrown = true
    }
    for (const row of countedKeys.rows()) {
      const { keyId } = row
      this.#checkKey(row, changes.get(keyId) ?? NO_CHANGES, open.get(keyId) ?? NONE_OPEN)
    }
  }

  /** Checks that a stream whose delivery was bounded by the budget costs at most its budget part. */
  #checkCost({ costPico, requestId }: SettlementRow, { keyPico }: RequestRow, isStream: (id: string) => boolean): void {
    if (keyPico === null || this.#unbounded.has(requestId) || !isStream(requestId)) return
    this.#require(costPico <= keyPico, () => `${requestId} costs ${costPico}, which is more than its budget part`)
  }

  #checkKey(row: CountedKeyRow, changes: Changes, open: { pending: bigint; requests: number }): void {
    const { keyId } = row
    const { counted, begun = 0 } = this.#database.keys.get(keyId) ?? {}
    const isCounted = counted === true
    const before = this.#seen.get(keyId)
    if (before?.row === row && before.isCounted === isCounted && !hasChanged(changes)) return
    this.#seen.set(keyId, { row, begun, isCounted })
    const { now } = this.#database.time
    const versions = this.#versions.get(keyId) ?? []
    this.#versions.set(keyId, versions)
    versions.push({ atMillis: now, key: isCounted ? keyOf(row) : undefined })
    if (!isCounted) return
    const { pending, openRequests } = row
    this.#require(pending === open.pending, () => `the pending amount of ${keyId} is not that of its open holds`)
    this.#require(openRequests === open.requests, () => `the open requests of ${keyId} are not its open holds`)
    const isNew = before === undefined || before.begun !== begun
    this.#checkSpend(row, isNew ? undefined : before.row, changes)
    this.#checkWindow(row, isNew ? undefined : before.row, changes)
    this.#checkLimits(row, changes)
  }

  #checkSpend(row: CountedKeyRow, before: CountedKeyRow | undefined, { settled, settledAtOnce }: Changes): void {
    const { day, keyId, spentInDay, spentInMonth, spentTotal } = row
    const charged = [...settled.map(([settlement]) => settlement), ...settledAtOnce]
    const cost = before === undefined ? 0n : charged.reduce((sum, { costPico }) => sum + costPico, 0n)
    const isSameDay = before?.day === day
    const isSameMonth = before?.day.slice(0, 7) === day.slice(0, 7)
    const expected = {
      inDay: cost + (before !== undefined && isSameDay ? before.spentInDay : 0n),
      inMonth: cost + (before !== undefined && isSameMonth ? before.spentInMonth : 0n),
      total: cost + (before?.spentTotal ?? 0n)
    }
    this.#require(spentTotal === expected.total, () => `the spend of ${keyId} is not that of its settlements`)
    this.#require(spentInDay === expected.inDay, () => `the spend of ${keyId} in the day is not ${expected.inDay}`)
    this.#require(
      spentInMonth === expected.inMonth,
      () => `the spend of ${keyId} in the month is not ${expected.inMonth}`
    )
    this.#latestTime = Math.max(this.#latestTime, this.#database.nowMillis)
    const lastDay = dateOf(new Date(this.#latestTime + CLOCK_ERROR_MILLIS))
    const isPossible = day <= lastDay && (before === undefined || day >= before.day)
    this.#require(isPossible, () => `the day of ${keyId} is ${day}, after ${before?.day}, before ${lastDay}`)
  }

  #checkWindow(row: CountedKeyRow, before: CountedKeyRow | undefined, changes: Changes): void {
    const { admitted, settled, settledAtOnce } = changes
    const { keyId, windowBeganAt, windowNumber, windowRequests, windowTokens } = row
    if (before === undefined) return
    const isSame = windowNumber === before.windowNumber
    let tokens = isSame ? before.windowTokens : 0n
    for (const [{ charged }, { keyTokens, keyWindow }] of settled) {
      const excess = charged.reduce((sum, each) => sum + each, 0n) - (keyTokens ?? 0n)
      if (excess > 0n || (isSame && keyWindow === windowNumber)) tokens += excess
    }
    for (const { keyTokens } of admitted) tokens += keyTokens ?? 0n
    for (const { charged } of settledAtOnce) tokens += charged.reduce((sum, each) => sum + each, 0n)
    const requests = admitted.length + settledAtOnce.length + (isSame ? before.windowRequests : 0)
    this.#require(
      windowTokens === tokens,
      () => `the rate window of ${keyId} counts ${windowTokens} tokens, not ${tokens}`
    )
    this.#require(windowRequests === requests, () => `the rate window of ${keyId} counts ${windowRequests} requests`)
    const hasEnded = Math.abs(windowBeganAt - before.windowBeganAt) >= RATE_WINDOW_MILLIS
    const follows = isSame ? windowBeganAt === before.windowBeganAt : hasEnded
    this.#require(follows, () => `a rate window of ${keyId} ends early`)
    for (const { keyWindow, requestId } of admitted) {
      this.#require(keyWindow === windowNumber, () => `${requestId} is counted in another rate window`)
    }
  }

  /** Checks the limits of the decisions that this commit has written. */
  #checkLimits(row: CountedKeyRow, { admitted, hasGrown, settledAtOnce }: Changes): void {
    const { concurrent, keyId, openRequests, pending, requests, tokens, windowRequests, windowTokens } = row
    const budgets = [
      [row.perDay, row.spentInDay],
      [row.perMonth, row.spentInMonth],
      [row.total, row.spentTotal]
    ] as const
    for (const [limit, spent] of budgets) {
      const isKept = limit === null || !hasGrown || spent + pending <= toUsdPico(UsdMicro(limit))
      this.#require(isKept, () => `the holds of ${keyId} exceed its budget`)
    }
    if (admitted.length + settledAtOnce.length === 0) return
    this.#require(requests === null || windowRequests <= requests, () => `${keyId} exceeds its requests per minute`)
    if (admitted.length === 0) return
    const hasBudget = budgets.some(([limit]) => limit !== null)
    for (const { keyPico, requestId } of admitted) {
      this.#require((keyPico !== null) === hasBudget, () => `${requestId} ignores the budget of ${keyId}`)
    }
    this.#require(concurrent === null || openRequests <= concurrent, () => `${keyId} has ${openRequests} open requests`)
    const isAlone = admitted.some(({ keyTokens }) => keyTokens === windowTokens)
    this.#require(tokens === null || windowTokens <= tokens || isAlone, () => `${keyId} exceeds its tokens per minute`)
  }

  /** Records the hold that a node was told. */
  holdIsKnown(requestId: string, { key }: Hold): void {
    this.#known.set(requestId, key?.budgetPico)
  }

  /** Returns the budget part that the node of this request knows. */
  budgetOf(requestId: string): UsdPico | undefined {
    const pico = this.#known.get(requestId)
    return pico === undefined ? undefined : UsdPico(pico)
  }

  /** Checks that a reported hold has the parts that its row has. */
  checkHold({ keyPico, keyTokens, requestId }: RequestRow, { key }: Hold): void {
    const isStored = (keyTokens !== null) === (key !== undefined) && (keyPico ?? 0n) >= (key?.budgetPico ?? 0n)
    this.#require(isStored, () => `the reported part of ${requestId} that counts for its key is not stored`)
  }

  /** Checks that a new hold counts for the limits that the key had since the request was sent. */
  checkAdmitted({ principal: { keyId }, requestId }: Admission, { key }: Hold, sinceMillis: number): void {
    if (this.#database.keys.get(keyId)?.counted === undefined) return
    const current = this.#current(keyId, sinceMillis)
    if (current.every((version) => version.key !== undefined))
      this.#require(key !== undefined, () => `${requestId} ignores the limits of ${keyId}`)
    else if (current.every((version) => version.key === undefined))
      this.#require(key === undefined, () => `${requestId} obeys limits that ${keyId} does not have`)
  }

  /** Checks an extension: it uses the budget that is set now, as far as the budget is available. */
  checkExtended({ admission, usage }: Extension, { key }: Hold, sinceMillis: number): void {
    if (key === undefined) return
    const { price, principal, requestId } = admission
    const { keyId } = principal
    const cost = Price.cost(price, usage)
    const times = this.#times(sinceMillis)
    const budgets = this.#current(keyId, sinceMillis).map((version) => budgetAt(version.key, Math.min(...times)))
    if (key.budgetPico === undefined) {
      this.#require(budgets.includes(undefined), () => `the extension of ${requestId} ignores the budget of ${keyId}`)
      return
    }
    const held = key.budgetPico
    const isUsedUp = budgets.some((available) => available !== undefined && available + held < cost)
    this.#require(
      held >= cost || isUsedUp,
      () => `${requestId} is not extended although the budget of ${keyId} allows it`
    )
  }

  /** Checks a refusal: at some time since the request was sent, a limit must have refused it. */
  checkRefusal(
    { estimate, price, principal: { keyId }, requestId, streamed }: Admission,
    error: KeyBudgetExceeded | KeyRateLimited,
    sinceMillis: number
  ): void {
    const times = this.#times(sinceMillis)
    const ofRate = error._tag === "KeyRateLimited" && error.limit !== "concurrent"
    const isJustified = this.#current(keyId, sinceMillis).some(
      ({ key }) =>
        key !== undefined &&
        times.some((now) => {
          const decision = decideKeyHold({ estimate, price, streamed }, key, now)
          const isRefused = Either.isLeft(decision) && decision.left._tag === error._tag
          return isRefused && (!ofRate || Math.abs(now - key.counts.window.beganAtMillis) < RATE_WINDOW_MILLIS)
        })
    )
    this.#require(isJustified, () => `${requestId} is refused (${error._tag}) although the limits of ${keyId} allow it`)
  }

  /** Returns the versions of a key that were current at some time since this time. */
  #current(keyId: string, sinceMillis: number): ReadonlyArray<Version> {
    const versions = this.#versions.get(keyId) ?? []
    const first = versions.findLastIndex(({ atMillis }) => atMillis < sinceMillis)
    return first < 0 ? [NOT_LIMITED, ...versions] : versions.slice(first)
  }

  /** Returns readings of the clock of the database since this time: the first, the last and those at its changes. */
  #times(sinceMillis: number): ReadonlyArray<number> {
    const { nowMillis, time } = this.#database
    const jumps = this.#jumps.filter(({ atMillis }) => atMillis >= sinceMillis)
    const [first = { atMillis: time.now, times: [nowMillis] }] = jumps
    const begin = Math.floor((first.times[0] ?? nowMillis) - (first.atMillis - sinceMillis))
    return [begin, ...jumps.flatMap(({ times }) => times), nowMillis]
  }
}

const NOT_LIMITED: Version = { atMillis: Number.NEGATIVE_INFINITY, key: undefined }
const NO_CHANGES: Changes = { admitted: [], settled: [], settledAtOnce: [], hasGrown: false }
const NONE_OPEN = { pending: 0n, requests: 0 }

const hasChanged = ({ admitted, hasGrown, settled, settledAtOnce }: Changes): boolean =>
  hasGrown || admitted.length + settled.length + settledAtOnce.length > 0

const budgetAt = (key: CountedKey | undefined, nowMillis: number): UsdPico | undefined =>
  key && availableBudget(key.limits, countsAt(key.counts, nowMillis))

const pico = (micro: bigint | null): UsdPico | undefined => (micro === null ? undefined : toUsdPico(UsdMicro(micro)))

const keyOf = (row: CountedKeyRow): CountedKey => ({
  limits: {
    spendPerDay: pico(row.perDay),
    spendPerMonth: pico(row.perMonth),
    spendTotal: pico(row.total),
    requestsPerMinute: row.requests ?? undefined,
    tokensPerMinute: row.tokens ?? undefined,
    concurrentRequests: row.concurrent ?? undefined
  },
  counts: {
    day: row.day,
    spentInDay: UsdPico(row.spentInDay),
    spentInMonth: UsdPico(row.spentInMonth),
    spentTotal: UsdPico(row.spentTotal),
    pending: UsdPico(row.pending),
    openRequests: row.openRequests,
    window: {
      number: row.windowNumber,
      beganAtMillis: row.windowBeganAt,
      requests: row.windowRequests,
      tokens: row.windowTokens
    }
  }
})
