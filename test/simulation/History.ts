/**
 * Runs one simulated history: nodes that serve requests over one database, while faults can happen. The seed reproduces
 * the history exactly.
 */

import type { Admission } from "@tollgate/application/ledger/InferenceLedger"
import { ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import { estimate } from "@tollgate/domain/inference/Estimate"
import { PicoPerToken, type Price } from "@tollgate/domain/ledger/Price"
import { Database, NO_FAULTS } from "./database/Database.ts"
import type { Cell } from "./database/Rows.ts"
import { Invariants } from "./Invariants.ts"
import { clockChange, hasLimitedKeys, LIMITED_SCALE, limitKey, limitsOf, lockKey, setTimeOfDay } from "./LimitedKeys.ts"
import { lockFor, MODEL, otherSession, userOf } from "./OtherSessions.ts"
import { Random } from "./Random.ts"
import {
  fastResponseOf,
  hasFastResponses,
  type KeyOptions,
  longStreamOf,
  type Scenario,
  scenarioOf,
  scriptOf
} from "./Scenario.ts"
import { SimulatedNode } from "./SimulatedNode.ts"
import { SimulatedRequest } from "./SimulatedRequest.ts"
import { Process, SimulatedTime } from "./SimulatedTime.ts"

export interface HistoryResult {
  readonly seed: number
  readonly events: number
  readonly requests: number
  readonly settled: number
  /** The number of requests that were admitted and settled in one transaction. */
  readonly settledAtOnce: number
  readonly simulatedMillis: number
  /** The violated invariant; undefined if all invariants hold. */
  readonly violation: string | undefined
}

/** The time after the busy phase in which the history must end, with every hold settled. */
const CALM_MILLIS = 120_000

export class History {
  readonly time: SimulatedTime
  readonly #seed: number
  readonly #random: Random
  readonly #scenario: Scenario
  readonly #database: Database
  readonly #invariants: Invariants
  readonly #trace: ((line: string) => void) | undefined
  readonly #requests: Array<SimulatedRequest> = []
  #nodes: Array<SimulatedNode> = []
  #processes = 0
  #starting = 0
  #hasChanged = false
  #phase: "busy" | "calm" | "stopping" | "sweeping" | "over" = "busy"

  constructor(seed: number, trace?: (line: string) => void) {
    this.#seed = seed
    this.#random = new Random(seed)
    this.time = new SimulatedTime(this.#random)
    this.#scenario = scenarioOf(this.#random, {
      hasLimitedKeys: hasLimitedKeys(seed),
      hasFastResponses: hasFastResponses(seed)
    })
    this.#trace = trace
    const database = new Database(this.time)
    this.#database = database
    this.#invariants = new Invariants(database, this.#scenario.node.admissionMillis)
    database.onCommit = () => {
      this.#hasChanged = true
    }
    database.onSweep = (requestIds, judgedBy) => {
      if (requestIds.length > 0) this.#log(() => `a sweep locks ${requestIds.join(", ")}`)
      this.#invariants.checkSweep(requestIds, judgedBy, this.#scenario.node.deadAfterMillis)
    }
  }

  #log(line: () => string): void {
    this.#trace?.(`${this.time.now.toFixed(2).padStart(10)} ms  ${line()}`)
  }

  async run(): Promise<HistoryResult> {
    try {
      this.#prepare()
      const deadline = this.#scenario.busyMillis + CALM_MILLIS
      const isOver = await this.time.run(
        deadline,
        () => this.#phase === "over" || this.#invariants.violation !== undefined,
        () => this.#step()
      )
      if (isOver) this.#invariants.checkEnd()
      else this.#invariants.fail(`the history did not end (phase ${this.#phase}): ${this.#whatWaits()}`)
    } catch (error) {
      this.#invariants.fail(String((error as Error).stack ?? error))
    }
    this.time.current = undefined
    const settled = this.#database.settlements.cells.size
    return {
      seed: this.#seed,
      events: this.time.events,
      requests: this.#requests.length,
      settled,
      settledAtOnce: this.#invariants.settledAtOnce,
      simulatedMillis: this.time.now,
      violation: this.#invariants.violation
    }
  }

  #whatWaits(): string {
    const calls = [...this.#invariants.waiting].filter(({ node }) => node.process.alive).map(({ call }) => call)
    const running = this.#requests.filter(({ isOver, node }) => !isOver && node.process.alive)
    const open = [...this.#database.requests.rows()].map(({ requestId }) => requestId)
    const runningIds = running.map(({ requestId }) => requestId)
    return `waiting calls [${calls}], running requests [${runningIds}], open requests [${open}]`
  }

  #prepare(): void {
    const { customers, keys, nodes, requests, busyMillis, trouble } = this.#scenario
    this.#log(() => `seed ${this.#seed}: ${shown(this.#scenario)}`)
    this.#database.prices.set("price", { rates: this.#rates })
    for (const [i, { paygPico, planTokens }] of customers.entries()) {
      this.#database.keys.set(`key ${i}`, { userId: userOf(i), valid: true })
      if (planTokens !== undefined) this.#createAccount(`${i} plan`, userOf(i), MODEL, planTokens)
      if (paygPico !== undefined) this.#createAccount(`${i} payg`, userOf(i), null, paygPico * this.#scale)
    }
    this.#invariants.checkRows()
    for (let i = 0; i < nodes; i++) this.#startNode()
    for (let i = 0; i < requests; i++)
      this.time.after(this.#random.next() * busyMillis * (this.#isLong(i) ? 0.3 : 1), undefined, () => this.#request(i))
    for (let i = 0; i < Math.ceil(trouble * 4); i++) this.#plan(() => this.#fault())
    for (let i = 0; i < this.#random.integer(0, 4); i++)
      this.#plan(() => {
        // The session must also run in a history without a trace, which does not call the function of `#log`.
        const session = otherSession(this.#database, customers.length, this.#scale)
        this.#log(() => `another session: ${session}`)
      })
    if (keys !== undefined) this.#prepareKeys(keys)
    if (trouble > 0) this.#database.faults.lostAtCommit = 0.04 * trouble
    if (trouble > 1) Object.assign(this.#database.faults, { refused: 0.02, slow: 0.005, paused: 0.1 })
    this.time.after(busyMillis, undefined, () => this.#calm())
  }

  #prepareKeys({ changes, clockChanges, locks, longLocks }: KeyOptions): void {
    const { customers } = this.#scenario
    const [database, random] = [this.#database, this.#random]
    setTimeOfDay(database, random)
    const change = (keyId: string, stream?: SimulatedRequest) => {
      const limits = limitsOf(random, stream && database.requests.committed(stream.requestId))
      this.#log(() => `another session: limits of ${keyId} ${shown(limits)}`)
      limitKey(database, keyId, limits)
    }
    const anyKey = () => `key ${random.integer(0, customers.length - 1)}`
    const keyOf = (stream: SimulatedRequest | undefined) => stream?.admission.principal.keyId ?? anyKey()
    const changeAny = () => {
      const stream = this.#openStream()
      change(keyOf(stream), stream)
    }
    for (const i of customers.keys()) change(`key ${i}`)
    for (let i = 0; i < changes; i++) this.#plan(changeAny)
    for (let i = 0; i < locks; i++) this.#plan(() => lockKey(database, keyOf(this.#openStream())))
    for (let i = 0; i < longLocks; i++) this.#plan(() => this.#lockLong())
    for (let i = 0; i < clockChanges; i++) {
      this.#plan(() => {
        const millis = clockChange(random)
        this.#log(() => `the clock of the database changes by ${millis} ms`)
        this.#invariants.keys.clockChanges(millis)
        database.timeOfDayMillis += millis
      })
    }
  }

  /** Returns a stream that has a hold and runs on a live node. */
  #openStream(): SimulatedRequest | undefined {
    const streams = this.#requests.filter(
      ({ admission, isOver, node, requestId }) =>
        admission.streamed && !isOver && node.isServing && this.#database.requests.committed(requestId) !== undefined
    )
    return streams.length === 0 ? undefined : this.#random.pick(streams)
  }

  /**
   * Another session locks a row of a customer for longer than an admission may wait. The customer has an open stream,
   * and sends new requests.
   */
  #lockLong(): void {
    const stream = this.#openStream()
    if (stream === undefined) return
    const [database, random] = [this.#database, this.#random]
    const { keyId, userId } = stream.admission.principal
    const accounts = [...database.accounts.cells.values()].filter(({ committed }) => committed?.userId === userId)
    const key = database.countedKeys.cells.get(keyId)
    const rows = (key === undefined ? accounts : [...accounts, key]) as ReadonlyArray<Cell<unknown>>
    if (rows.length === 0) return
    const millis = this.#scenario.node.admissionMillis * (1.2 + random.next())
    this.#log(() => `another session locks a row of ${userId} for ${Math.round(millis)} ms`)
    lockFor(database, random.pick(rows), millis)
    const customer = Number(userId.slice("user ".length))
    for (const i of random.pick([[900], [900, 901]])) this.#requestOf(i, customer, stream.node)
  }

  #isLong(i: number): boolean {
    return i < (this.#scenario.keys?.longStreams ?? 0)
  }

  get #scale(): bigint {
    return this.#scenario.keys === undefined ? 1n : LIMITED_SCALE
  }

  get #rates(): Scenario["rates"] {
    const [input, cacheWrite, cacheRead, output] = this.#scenario.rates
    const scale = this.#scale
    return [input * scale, cacheWrite * scale, cacheRead * scale, output * scale]
  }

  #plan(happen: () => void): void {
    this.time.after(this.#random.next() * this.#scenario.busyMillis, undefined, happen)
  }

  #createAccount(id: string, userId: string, modelId: string | null, credits: bigint): void {
    this.#database.credited.set(id, credits)
    this.#database.accounts.insertCommitted(id, { id, userId, modelId, credits, debits: 0n, pending: 0n })
  }

  #startNode(): void {
    const process = new Process(`node ${++this.#processes}`, this.#random.pick([1, 1, 0.9, 1.1]))
    this.#starting += 1
    this.time.after(this.#random.next(), process, () => {
      this.#starting -= 1
      const { node: options } = this.#scenario
      const node = new SimulatedNode(this.#database, process, options, "server", (line) => this.#onLog(process, line))
      node.start(options.deadAfterMillis)
      this.#nodes.push(node)
      this.#log(() => `${process.name} starts`)
    })
  }

  #onLog(process: Process, line: string): void {
    this.#log(() => `${process.name} logs: ${line}`)
    const isExpected = line.includes("requested by the simulation")
    if (line.startsWith("the database rejected") && !isExpected) this.#invariants.fail(`${process.name}: ${line}`)
    if (line.startsWith("an orphaned hold cannot be settled")) this.#invariants.fail(`${process.name}: ${line}`)
    if (line.startsWith("the ledger stopped with unwritten") && this.#phase === "stopping")
      this.#invariants.fail(`${process.name}: ${line}`)
  }

  #request(i: number): void {
    const serving = this.#nodes.filter((node) => node.isServing)
    if (serving.length === 0) return
    const node = this.#random.pick(serving)
    const customer = this.#isLong(i) ? 0 : this.#random.integer(0, this.#scenario.customers.length - 1)
    this.#requestOf(i, customer, node)
  }

  #requestOf(i: number, customer: number, node: SimulatedNode): void {
    const isFast = this.#scenario.hasFastResponses && this.#random.chance(0.9)
    const script = (this.#isLong(i) ? longStreamOf : isFast ? fastResponseOf : scriptOf)(this.#random)
    const [input, cacheWrite, cacheRead, output] = this.#rates.map(PicoPerToken)
    const size = SimulatedRequest.sizeOf(script)
    const admission: Admission = {
      requestId: `r${String(i).padStart(3, "0")}` as Admission["requestId"],
      principal: this.#principalOf(customer),
      modelId: ModelId(MODEL),
      priceId: PriceId("price"),
      price: { input, cacheWrite, cacheRead, output } as Price,
      protocol: "chat",
      streamed: script.streamed,
      estimate: estimate(size, { streamed: script.streamed, modelMaxOutputTokens: undefined })
    }
    this.time.after(0.01, node.process, () => {
      if (!node.isServing) return
      const request = new SimulatedRequest(this.time, node, admission, script, {
        onSent: (sent) => this.#invariants.checkSent(sent),
        onWritten: (written) => this.#invariants.checkWritten(written)
      })
      this.#requests.push(request)
      this.#invariants.requests.set(request.requestId, request)
      this.#log(() => `${request.requestId} of ${admission.principal.userId} arrives at ${node.id}`)
      request.begin(this.#invariants.observed(node))
    })
  }

  /** Returns the authenticated customer. Sometimes the node does not know the last change of the limits. */
  #principalOf(customer: number): Admission["principal"] {
    const principal = { keyId: `key ${customer}`, userId: userOf(customer) }
    if (this.#scenario.keys === undefined) return principal as unknown as Admission["principal"]
    const counted = (this.#database.keys.get(principal.keyId)?.counted === true) !== this.#random.chance(0.1)
    const limits = { counted, expiresAtMillis: Number.POSITIVE_INFINITY, models: undefined }
    return { ...principal, limits } as unknown as Admission["principal"]
  }

  #fault(): void {
    const random = this.#random
    const alive = this.#nodes.filter(({ process }) => process.alive)
    const [node] = alive.length === 0 ? [] : [random.pick(alive)]
    if (node === undefined) return
    const { process, network } = node
    const kind = random.pick([
      "break",
      "break",
      "freeze",
      "kill",
      "stall",
      "stop",
      "database",
      "reject",
      "clock",
      "sweep"
    ])
    const millis = random.skewed(1, random.pick([500, 5_000, 15_000]))
    this.#log(() => `fault: ${kind} ${node.id} (${Math.round(millis)} ms)`)
    if (kind === "break") network.breakConnections(random.chance(0.5))
    else if (kind === "freeze") network.frozenUntil = Math.max(network.frozenUntil, this.time.now + millis)
    else if (kind === "kill") this.#kill(node)
    else if (kind === "stall") process.stall(this.time.now, millis)
    else if (kind === "stop") this.#stop(node)
    else if (kind === "sweep") this.#sweepLiveNode(node)
    else if (kind === "database") this.#crashDatabase(millis)
    else if (kind === "reject") {
      const [request] = this.#requests.filter(({ isOver }) => !isOver)
      if (request !== undefined) this.#database.rejected.add(request.requestId)
    } else {
      const change = random.pick([-1, 1]) * random.skewed(0, 10_000)
      this.#invariants.keys.clockChanges(change)
      this.#database.clockOffsetMillis += change
    }
  }

  #kill(node: SimulatedNode): void {
    node.kill()
    this.#nodes = this.#nodes.filter((each) => each !== node)
    this.#starting += 1
    this.time.after(this.#random.skewed(10, 1_000), undefined, () => {
      this.#starting -= 1
      this.#startNode()
    })
  }

  #stop(node: SimulatedNode): void {
    if (!node.isServing) return
    node.isServing = false
    const drainMillis = this.#phase === "calm" ? 0.01 : this.#random.skewed(0.01, 3_000)
    this.time.after(drainMillis, node.process, () => {
      node.stop(() => {
        this.#log(() => `${node.id} has stopped`)
        node.process.alive = false
        this.#nodes = this.#nodes.filter((each) => each !== node)
        if (this.#phase !== "stopping") this.#startNode()
      })
    })
  }

  #crashDatabase(millis: number): void {
    this.#database.isDown = true
    this.#database.crash()
    this.time.after(millis, undefined, () => {
      this.#database.isDown = false
    })
  }

  /** Ends the busy phase: no further faults begin. A fault that has a duration still continues for this duration. */
  #calm(): void {
    this.#phase = "calm"
    this.#log(() => "no further faults begin")
    Object.assign(this.#database.faults, NO_FAULTS)
    this.#database.rejected.clear()
  }

  #step(): void {
    if (this.#hasChanged) {
      this.#hasChanged = false
      this.#invariants.checkRows()
    }
    if (this.#phase === "calm" && this.#isQuiet()) {
      this.#invariants.checkQuiet(this.#nodes)
      for (const node of this.#nodes) this.#stop(node)
      this.#phase = "stopping"
      this.#log(() => "all nodes stop")
    } else if (this.#phase === "stopping" && this.#nodes.length === 0) this.#sweep()
  }

  #isQuiet(): boolean {
    const isRunning = (request: SimulatedRequest) => !request.isOver && request.node.process.alive
    if (this.#starting > 0 || this.#requests.some(isRunning)) return false
    if ([...this.#invariants.waiting].some(({ node }) => node.process.alive)) return false
    return this.#nodes.every(({ isServing, ledger }) => {
      // A batch keeps an admission that was refused at its deadline, and the load counts this admission. If the commit
      // succeeds, the ledger must still release the hold of this admission.
      const { unsettled, waitingAdmissions } = ledger.load()
      return isServing && unsettled === 0 && waitingAdmissions === 0
    })
  }

  /** An operator deregisters a live node, and settles its holds. The node continues to run. */
  #sweepLiveNode({ id }: SimulatedNode): void {
    const row = this.#database.nodes.get(id)
    if (row !== undefined) row.left = true
    this.#asOperator((operator) => operator.sweep(() => {}))
  }

  /** Settles the holds of the stopped nodes, as an operator does, until no hold is left. */
  #sweep(): void {
    this.#phase = "sweeping"
    this.#asOperator((operator) => {
      const sweep = (): void =>
        operator.sweep(() => {
          if ([...this.#database.requests.rows()].length === 0) this.#phase = "over"
          else this.time.after(500, operator.process, sweep)
        })
      sweep()
    })
  }

  #asOperator(act: (operator: SimulatedNode) => void): void {
    const process = new Process("operator", 1)
    const { node: options } = this.#scenario
    this.time.after(1, process, () =>
      act(new SimulatedNode(this.#database, process, options, "operator", (line) => this.#onLog(process, line)))
    )
  }
}

const shown = (value: unknown): string =>
  JSON.stringify(value, (_, member) => (typeof member === "bigint" ? `${member}` : member))
