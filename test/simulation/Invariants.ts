/**
 * The invariants of the ledger, checked against the rows of the modelled database and against the content that clients
 * received.
 */
import type { Admission, InferenceLedger, Settled } from "@tollgate/application/ledger/InferenceLedger"
import { isZero } from "@tollgate/domain/inference/ReportedUsage"
import { AccountId } from "@tollgate/domain/ledger/Account"
import { covers, decideHold, type Hold } from "@tollgate/domain/ledger/Hold"
import type { KeyBudgetExceeded, KeyRateLimited } from "@tollgate/domain/ledger/KeyHold"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { Either, Exit } from "effect"
import type { Database } from "./database/Database.ts"
import type { AccountRow, SettlementRow } from "./database/Rows.ts"
import { KeyInvariants } from "./KeyInvariants.ts"
import type { SimulatedNode } from "./SimulatedNode.ts"
import { type SimulatedRequest, tokensOf } from "./SimulatedRequest.ts"

interface Waiting {
  readonly call: string
  readonly node: SimulatedNode
}

/**
 * A callback may exceed its deadline, because timers can be late and the callbacks of an earlier batch can run first.
 */
const LATE_MILLIS = 500

export class Invariants {
  readonly #database: Database
  readonly #admissionMillis: number
  /** The first violation; undefined if all invariants hold. */
  violation: string | undefined
  readonly requests = new Map<string, SimulatedRequest>()
  readonly waiting = new Set<Waiting>()
  readonly keys: KeyInvariants
  readonly #settled = new Map<string, SettlementRow>()
  /** Requests that had a committed hold at any time. */
  readonly #held = new Set<string>()
  /** Requests whose settlement was passed to the ledger while the admission was deferred. */
  readonly #settledWithAdmission = new Set<string>()
  /** Requests whose clients were told that the admission was refused. */
  readonly #refused = new Set<string>()
  /** The available amounts of each account after each change, oldest first. */
  readonly #available = new Map<string, Array<readonly [atMillis: number, amount: bigint]>>()
  readonly #creations = new Map<string, number>()

  constructor(database: Database, admissionMillis: number) {
    this.#database = database
    this.#admissionMillis = admissionMillis
    this.keys = new KeyInvariants(database, (holds, message) => this.#require(holds, message))
  }

  /** Records a violation. The checks do not throw, because the code that is checked could catch the exception. */
  fail(message: string): void {
    this.violation ??= message
  }

  #require(holds: boolean, message: () => string): void {
    if (!holds) this.fail(message())
  }

  checkRows(): void {
    const { accounts, credited, requests, settlements, time } = this.#database
    const pending = new Map<string, bigint>()
    const debits = new Map<string, bigint>()
    const add = (sums: Map<string, bigint>, id: string | null, amount: bigint) => {
      if (id !== null) sums.set(id, (sums.get(id) ?? 0n) + amount)
      else this.#require(amount === 0n, () => "an amount of a row belongs to no account")
    }
    for (const row of requests.rows()) {
      this.#held.add(row.requestId)
      add(pending, row.planAccount, row.planTokens)
      add(pending, row.paygAccount, row.paygPico)
    }
    const newSettlements: Array<SettlementRow> = []
    for (const row of settlements.rows()) {
      const { requestId } = row
      const before = this.#settled.get(requestId)
      if (before === undefined) {
        newSettlements.push(row)
        this.#checkSettlement(row)
      } else this.#require(before === row, () => `the settlement of ${requestId} has changed`)
      this.#require(requests.committed(requestId) === undefined, () => `${requestId} is open although it is settled`)
      add(debits, row.planAccount, row.planTokens)
      add(debits, row.paygAccount, row.paygPico)
    }
    for (const row of accounts.rows()) {
      const { id } = row
      const available = row.credits - row.debits - row.pending
      this.#require(available >= 0n, () => `the available balance of ${id} is ${available}`)
      this.#require(row.pending === (pending.get(id) ?? 0n), () => `the pending amount of ${id} is not its open holds`)
      this.#require(row.debits === (debits.get(id) ?? 0n), () => `the debits of ${id} are not its settlements`)
      this.#require(row.credits === credited.get(id), () => `the credits of ${id} are not its transfers`)
      this.#recordAvailable(id, available, time.now)
    }
    this.keys.checkRows(newSettlements, (requestId) => {
      const request = this.requests.get(requestId)
      return request?.script.streamed === true && !this.#usesMore(request)
    })
  }

  #recordAvailable(id: string, available: bigint, now: number): void {
    const known = this.#available.get(id)
    if (known === undefined) {
      this.#available.set(id, [[now, available]])
      this.#creations.set(id, now)
    } else if (known[known.length - 1]?.[1] !== available) known.push([now, available])
  }

  #checkSettlement(row: SettlementRow): void {
    const { charged, ending, requestId, writeoffPico, writtenBy } = row
    this.#settled.set(requestId, row)
    const isAdmitted = this.#held.has(requestId) || this.#settledWithAdmission.has(requestId)
    this.#require(isAdmitted, () => `${requestId} is settled although it was never held`)
    const request = this.requests.get(requestId)
    if (request === undefined) {
      this.fail(`${requestId} is settled although no client sent it`)
      return
    }
    this.#checkNotRefused(row)
    const [input = 0n, , , output = 0n] = charged
    const name = `the settlement of ${requestId} (${ending}, by ${writtenBy})`
    if (ending === "failed") this.#require(input + output === 0n, () => `${name} charges a failed request`)
    const { prompt, output: reportedOutput } = request.reported
    const isComplete = ending === "complete"
    const delivered = BigInt(
      tokensOf(request.script.streamed ? request.acceptedCharacters : (request.script.chunks[0] ?? 0))
    )
    const mostOutput = isComplete && reportedOutput !== undefined ? reportedOutput : delivered
    this.#require(output <= mostOutput, () => `${name} charges ${output} output tokens of ${mostOutput}`)
    const local = BigInt(request.promptTokens)
    const mostInput = prompt !== undefined && prompt.input > local ? prompt.input : local
    this.#require(input <= mostInput, () => `${name} charges ${input} prompt tokens of ${mostInput}`)
    if (request.script.streamed && !this.#usesMore(request))
      this.#require(writeoffPico === 0n, () => `${name} writes ${writeoffPico} off`)
  }

  /** Returns whether the provider reports more than it delivered, or the prompt has more tokens than estimated. */
  #usesMore({ script }: SimulatedRequest): boolean {
    return script.isUnusualPrompt || (script.reportedPrompt ?? 0) > 0 || (script.reportedOutput ?? 0) > 0
  }

  /** Checks that a request whose admission was refused is not charged. */
  #checkNotRefused({ costPico, planTokens, requestId }: SettlementRow): void {
    const isFree = costPico === 0n && planTokens === 0n
    this.#require(isFree || !this.#refused.has(requestId), () => `${requestId} is charged although it was refused`)
  }

  /** The number of requests that were admitted and settled in one transaction. */
  get settledAtOnce(): number {
    return [...this.#settledWithAdmission].filter((id) => this.#settled.has(id) && !this.#held.has(id)).length
  }

  checkSent(request: SimulatedRequest): void {
    const { delivery, requestId, sentCharacters } = request
    const row = this.#database.requests.committed(requestId)
    if (row === undefined) {
      this.#require(this.#isSettled(requestId), () => `${requestId} writes content before its hold is durable`)
      return
    }
    if (this.#usesMore(request)) return
    const reported = delivery?.reported.prompt
    const prompt = reported === undefined || isZero(reported) ? BigInt(request.promptTokens) : reported.input
    const usage = TokenUsage.plain(Tokens.Tokens(prompt), Tokens.fromCount(tokensOf(sentCharacters)))
    const budgetPico = this.keys.budgetOf(requestId)
    const hold: Hold = {
      planTokens: Tokens.Tokens(row.planTokens),
      paygPico: UsdPico(row.paygPico),
      key: { budgetPico, tokens: Tokens.zero, window: 0n }
    }
    this.#require(
      covers(hold, usage, request.admission.price),
      () => `${requestId} delivers more than its hold covers: ${usage.output} output tokens, ${shown(hold)}`
    )
  }

  checkWritten({ requestId }: SimulatedRequest): void {
    const settled = this.#database.settlements.committed(requestId)
    this.#require(settled?.ending === "complete", () => `${requestId} writes a whole response before its settlement`)
  }

  /** Checks that a sweep selects only requests of dead or deregistered nodes. */
  checkSweep(
    requestIds: ReadonlyArray<string>,
    judgedBy: "database clock" | "heartbeats",
    deadAfterMillis: number
  ): void {
    const { clockMillis, nodes, requests, time } = this.#database
    for (const requestId of requestIds) {
      const nodeId = requests.cells.get(requestId)?.committed?.nodeId ?? ""
      const node = nodes.get(nodeId)
      if (node === undefined || node.left) continue
      const silentMillis = judgedBy === "heartbeats" ? time.now - node.storedAtMillis : clockMillis - node.beatAt
      // The clock of the node that measures the silence can be a tenth faster.
      const isDead = silentMillis >= deadAfterMillis * 0.9
      this.#require(isDead, () => `a sweep settles ${requestId} of the live node ${nodeId}`)
    }
  }

  observed(node: SimulatedNode): InferenceLedger["Type"] {
    const { ledger } = node
    /** Functions that record the results of admissions. */
    const admissions = new Map<string, () => void>()
    const admit =
      (method: "admit" | "admitLater"): InferenceLedger["Type"]["admit"] =>
      (admission, callback) => {
        const { requestId } = admission
        const begunAt = this.#database.time.now
        const begun = this.#begin(node, `admission of ${requestId}`, this.#admissionMillis)
        admissions.set(requestId, begun)
        ledger[method](admission, (exit) => {
          admissions.get(requestId)?.()
          this.#checkAdmission(admission, exit, begunAt)
          callback(exit)
        })
      }
    return {
      ...ledger,
      admit: admit("admit"),
      admitLater: admit("admitLater"),
      settleWithAdmission: (request, callback) => {
        const { requestId } = request.admission
        const isAdded = ledger.settleWithAdmission(request, (exit) => {
          admissions.get(requestId)?.()
          if (Exit.isSuccess(exit)) {
            this.#require(exit.value !== undefined, () => `${requestId} is settled with its admission without a result`)
            if (exit.value !== undefined) this.#checkAcknowledged(requestId, exit.value, node)
          }
          callback(exit)
        })
        if (isAdded) {
          this.#settledWithAdmission.add(requestId)
          // While a transaction may settle the request, the admission is not refused at its deadline.
          admissions.get(requestId)?.()
          admissions.set(requestId, this.#begin(node, `admission and settlement of ${requestId}`, undefined))
        }
        return isAdded
      },
      extend: (extension, callback) => {
        const { requestId } = extension.admission
        const begunAt = this.#database.time.now
        const end = this.#begin(node, `extension of ${requestId}`, this.#admissionMillis)
        ledger.extend(extension, (exit) => {
          end()
          if (Exit.isSuccess(exit) && exit.value !== undefined) {
            this.#checkHold(requestId, exit.value)
            this.keys.checkExtended(extension, exit.value, begunAt)
          } else if (Exit.isSuccess(exit))
            this.#require(this.#isSettled(requestId), () => `${requestId} is reported as settled`)
          callback(exit)
        })
      },
      settle: (request, callback) => {
        const { requestId } = request.admission
        const end = this.#begin(node, `settlement of ${requestId}`, undefined)
        ledger.settle(request, (exit) => {
          end()
          if (Exit.isSuccess(exit)) {
            if (exit.value === undefined) this.#checkSettledElsewhere(requestId, node)
            else this.#checkAcknowledged(requestId, exit.value, node)
          }
          callback(exit)
        })
      }
    }
  }

  #checkAdmission(admission: Admission, exit: Exit.Exit<Hold, { readonly _tag: string }>, begunAt: number): void {
    const { requestId } = admission
    if (Exit.isSuccess(exit)) {
      this.#checkHold(requestId, exit.value)
      this.keys.checkAdmitted(admission, exit.value, begunAt)
      return
    }
    this.#refused.add(requestId)
    const settled = this.#settled.get(requestId)
    if (settled !== undefined) this.#checkNotRefused(settled)
    if (exit.cause._tag !== "Fail") return
    const { error } = exit.cause
    if (error._tag === "InsufficientBalance") this.#checkRefusal(requestId, begunAt)
    else if (isOfKey(error)) this.keys.checkRefusal(admission, error, begunAt)
    else if (error._tag === "InvalidApiKey") {
      const isValid = this.#database.keys.get(admission.principal.keyId)?.valid === true
      this.#require(!isValid, () => `${requestId} is refused although its API key is valid`)
    }
  }

  /** Records a call. Returns the function that records its callback. */
  #begin(node: SimulatedNode, call: string, limitMillis: number | undefined): () => void {
    const waiting: Waiting = { call, node }
    this.waiting.add(waiting)
    const { time } = this.#database
    const { clockRate, stalledMillis } = node.process
    const begunAt = time.now
    return () => {
      this.#require(this.waiting.delete(waiting), () => `the ${call} has two results`)
      if (limitMillis === undefined) return
      const millis = time.now - begunAt - (node.process.stalledMillis - stalledMillis)
      const limit = (limitMillis * 1.2) / clockRate + LATE_MILLIS
      this.#require(millis <= limit, () => `the ${call} took ${Math.round(millis)} ms`)
    }
  }

  /** Checks that a hold that the ledger reports is stored, or was settled since. */
  #checkHold(requestId: string, hold: Hold): void {
    this.keys.holdIsKnown(requestId, hold)
    const row = this.#database.requests.committed(requestId)
    if (row === undefined) {
      this.#require(this.#isSettled(requestId), () => `the hold of ${requestId} is reported but not stored`)
      return
    }
    const isStored = row.planTokens >= hold.planTokens && row.paygPico >= hold.paygPico
    this.#require(isStored, () => `the reported hold of ${requestId} is larger than the stored hold: ${shown(hold)}`)
    this.keys.checkHold(row, hold)
  }

  #isSettled(requestId: string): boolean {
    return this.#database.settlements.committed(requestId) !== undefined
  }

  #checkAcknowledged(requestId: string, { measured, settlement }: Settled, node: SimulatedNode): void {
    const row = this.#database.settlements.committed(requestId)
    const isStored =
      row?.writtenBy === `${node.process.name} ledger` &&
      row.ending === measured.ending &&
      row.costPico === settlement.costPico &&
      row.planTokens === settlement.planTokens &&
      row.paygPico === settlement.paygPico &&
      row.writeoffPico === settlement.writeoffPico
    this.#require(isStored, () => `the settlement of ${requestId} is reported but not stored`)
  }

  #checkSettledElsewhere(requestId: string, node: SimulatedNode): void {
    const row = this.#database.settlements.committed(requestId)
    const elsewhere = row !== undefined && row.writtenBy !== `${node.process.name} ledger`
    this.#require(elsewhere, () => `${requestId} is reported as settled by another node`)
  }

  /** Checks a refusal: the lowest balances since the request was sent must not cover the request. */
  #checkRefusal(requestId: string, sinceMillis: number): void {
    const request = this.requests.get(requestId)
    if (request === undefined) return
    const { estimate, modelId, price, principal } = request.admission
    const least = (isWanted: (row: AccountRow) => boolean) => {
      const row = [...this.#database.accounts.rows()].find((each) => each.userId === principal.userId && isWanted(each))
      if (row === undefined || (this.#creations.get(row.id) ?? 0) > sinceMillis) return undefined
      const changes = this.#available.get(row.id) ?? []
      let amount: bigint | undefined
      for (const [i, [, available]] of changes.entries()) {
        const until = changes[i + 1]?.[0] ?? Number.POSITIVE_INFINITY
        if (until >= sinceMillis && (amount === undefined || available < amount)) amount = available
      }
      return { id: AccountId(row.id), amount: amount ?? 0n }
    }
    const plan = least((row) => row.modelId === modelId)
    const payg = least((row) => row.modelId === null)
    const covered = decideHold(estimate, price, {
      plan: plan && accountOf(plan.id, Tokens.Tokens(plan.amount), Tokens.zero),
      payg: payg && accountOf(payg.id, UsdPico(payg.amount), UsdPico(0n))
    })
    this.#require(Either.isLeft(covered), () => `${requestId} is refused although the balances cover it`)
  }

  /** Checks that nodes without running requests have no open holds. */
  checkQuiet(nodes: ReadonlyArray<SimulatedNode>): void {
    for (const { nodeId, requestId } of this.#database.requests.rows()) {
      const isLive = nodes.some(({ id }) => id === nodeId)
      this.#require(!isLive, () => `${requestId} stays open although ${nodeId} has ended it`)
    }
  }

  /** Checks the end of a history: each held request is settled, and no call waits. */
  checkEnd(): void {
    for (const { call, node } of this.waiting) if (node.process.alive) this.fail(`the ${call} has no result`)
    for (const requestId of this.#held)
      this.#require(this.#settled.has(requestId), () => `${requestId} is never settled`)
    for (const { requestId } of this.#database.requests.rows()) this.fail(`${requestId} stays open`)
  }
}

const isOfKey = (error: { readonly _tag: string }): error is KeyBudgetExceeded | KeyRateLimited =>
  error._tag === "KeyBudgetExceeded" || error._tag === "KeyRateLimited"

const accountOf = <Unit extends bigint>(id: AccountId, credits: Unit, zero: Unit) => ({
  id,
  creditsPosted: credits,
  debitsPosted: zero,
  debitsPending: zero
})

const shown = ({ key, planTokens, paygPico }: Hold): string => {
  const balances = `${planTokens} plan tokens and ${paygPico} pico-USD`
  return key?.budgetPico === undefined ? balances : `${balances}, ${key.budgetPico} pico-USD of the budget`
}
