/**
 * Tests the allowance of streams. The ledger decides by the domain rules. The last test uses streams that share one
 * balance, in random interleavings of deliveries, extensions, failures of the ledger, endings and crashes.
 */

import { Delivery } from "@tollgate/application/inference/Delivery"
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import { StreamAllowance } from "@tollgate/application/inference/StreamAllowance"
import type { Admission, Callback, Extension, InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import { ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { UserId } from "@tollgate/domain/customer/User"
import { chargeFor } from "@tollgate/domain/inference/Charge"
import { chargeAtCheckpoint } from "@tollgate/domain/inference/Checkpoint"
import { estimate, type RequestSize } from "@tollgate/domain/inference/Estimate"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Account from "@tollgate/domain/ledger/Account"
import { type Balances, decideHold, growHold, type Hold } from "@tollgate/domain/ledger/Hold"
import { PicoPerToken, type Price } from "@tollgate/domain/ledger/Price"
import { type Charge, decideSettlement } from "@tollgate/domain/ledger/Settlement"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { Effect, Either, Exit, FastCheck } from "effect"
import { describe, expect, it } from "vitest"

/** The text of the prompt of every request. */
const PROMPT = "Say hello to everyone who reads this."
const tokensOf = (text: string): Tokens.Tokens => Tokens.fromCount(Math.ceil(text.length / 3))
const COUNTED_PROMPT = Tokens.Tokens(tokensOf(PROMPT) + 6n)
const counter = { count: (text: string) => Effect.succeed(tokensOf(text)) }
const size = { textBytes: PROMPT.length, attachments: 0, maxOutputTokens: undefined, choices: 1 }
const request: InferenceRequest = {
  model: "m",
  streamed: true,
  size,
  promptText: () => ({ text: PROMPT, extraTokens: 6 })
}

interface Stream {
  readonly admission: Admission
  readonly delivery: Delivery
  readonly allowance: StreamAllowance
  hold: Hold
}

/** A ledger with one customer, and the streams of all nodes. */
class World {
  balances: Balances
  readonly price: Price
  readonly streams: Array<Stream> = []
  writtenOffPico = 0n
  #extensions: Array<() => void> = []
  #failing = false
  #ids = 0

  constructor(planTokens: bigint, paygPico: bigint, price: Price) {
    this.balances = {
      plan: { id: Account.AccountId("plan"), ...amounts(Tokens.Tokens, planTokens) },
      payg: { id: Account.AccountId("payg"), ...amounts(UsdPico, paygPico) }
    }
    this.price = price
  }

  readonly #ledger = {
    extend: (extension: Extension, callback: Callback<Hold | undefined, Overloaded>) => {
      const isFailing = this.#failing
      this.#extensions.push(() => callback(isFailing ? OVERLOADED : Exit.succeed(this.#extended(extension))))
    }
  } as InferenceLedger["Type"]

  #extended({ admission, usage }: Extension): Hold | undefined {
    const stream = this.streams.find((each) => each.admission === admission)
    if (stream === undefined) return undefined
    const held = growHold(stream.hold, usage, this.price, this.balances)
    this.balances = held
    stream.hold = held.hold
    return held.hold
  }

  begin(ofRequest: RequestSize = size, isPromptCounted = true): void {
    const admission: Admission = {
      requestId: RequestId(`request ${this.#ids++}`),
      principal: { keyId: ApiKeyId.make("019a9f0e-0000-7000-8000-000000000001"), userId: USER },
      modelId: ModelId("m"),
      priceId: PriceId("p"),
      price: this.price,
      protocol: "chat",
      streamed: true,
      estimate: estimate(ofRequest, { streamed: true, modelMaxOutputTokens: undefined })
    }
    const held = decideHold(admission.estimate, this.price, this.balances)
    if (Either.isLeft(held)) return
    this.balances = held.right
    const delivery = new Delivery(admission.requestId, admission.estimate.inputFloor, CLOCK)
    const ports = { ledger: this.#ledger, counter, run }
    const allowance = new StreamAllowance(admission, request, delivery, ports)
    delivery.allowance = allowance
    this.streams.push({ admission, delivery, allowance, hold: held.right.hold })
    // The use case opens the allowance only if the hold covers the prompt. If necessary, the use case counts the prompt
    // first.
    allowance.open(held.right.hold, isPromptCounted ? COUNTED_PROMPT : undefined)
  }

  /** Delivers content if the allowance permits it. */
  deliver(nth: number, characters: number): void {
    const stream = this.#stream(nth)
    const content = "x".repeat(characters)
    if (stream?.allowance.permits(content)) {
      stream.delivery.recordSent(content)
      stream.delivery.text.markDelivered(stream.delivery.text.sentCharacters, stream.delivery.text.sentDeltas)
    }
  }

  completeExtension(nth: number): void {
    const [complete] = this.#extensions.splice(nth % Math.max(1, this.#extensions.length), 1)
    complete?.()
  }

  fail(failing: boolean): void {
    this.#failing = failing
  }

  end(nth: number): void {
    const stream = this.#stream(nth)
    if (stream !== undefined) this.#settle(stream, this.#charge(stream))
  }

  /** Ends a stream by the death of its node: another node settles the stream at its checkpoint. */
  crash(nth: number): void {
    const stream = this.#stream(nth)
    if (stream !== undefined) this.#settle(stream, chargeAtCheckpoint(stream.delivery.checkpoint))
  }

  /** Returns the amount that is written off if the provider of the first stream reported these prompt tokens. */
  writeOffIfReported(input: bigint, cacheWrite = 0n): bigint {
    const [stream] = this.streams
    if (stream === undefined) return 0n
    const prompt = { input: Tokens.Tokens(input), cacheWrite: Tokens.Tokens(cacheWrite) }
    const charged = { ...this.#charge(stream).charged, ...prompt }
    const charge: Charge = { charged, consumed: charged, source: "upstream" }
    return decideSettlement(stream.hold, charge, this.price, this.balances).settlement.writeoffPico
  }

  /** Returns the amount that would be written off if all available money were spent and this stream ended now. */
  uncoveredPico(stream: Stream): bigint {
    const { plan, payg } = this.balances
    const spent = { plan: plan && spentUp(plan), payg: payg && spentUp(payg) }
    return decideSettlement(stream.hold, this.#charge(stream), this.price, spent).settlement.writeoffPico
  }

  #charge({ delivery }: Stream): Charge {
    const output = Tokens.sum(delivery.text.texts.map(tokensOf))
    const counts = { prompt: () => COUNTED_PROMPT, deliveredOutput: () => output }
    return chargeFor(delivery.outcome("client_gone"), counts)
  }

  #settle(stream: Stream, charge: Charge): void {
    const after = decideSettlement(stream.hold, charge, this.price, this.balances)
    this.balances = after
    this.writtenOffPico += after.settlement.writeoffPico
    this.streams.splice(this.streams.indexOf(stream), 1)
  }

  #stream(nth: number): Stream | undefined {
    return this.streams[nth % Math.max(1, this.streams.length)]
  }
}

const OVERLOADED = Exit.fail(new Overloaded({ retryAfterSeconds: 1 }))
const USER = UserId.make("019a9f0e-0000-7000-8000-000000000002")
const CLOCK = { acceptedAtMillis: 0, nowMillis: () => 0 }
const run = <A, E>(effect: Effect.Effect<A, E>, callback: Callback<A, E>) => callback(Effect.runSyncExit(effect))
const amounts = <Unit extends bigint>(unit: (amount: bigint) => Unit, credits: bigint) => ({
  creditsPosted: unit(credits),
  debitsPosted: unit(0n),
  debitsPending: unit(0n)
})
const spentUp = <Unit extends bigint>(account: Account.Account<Unit>): Account.Account<Unit> =>
  Account.debit(account, Account.available(account))

const nth = FastCheck.nat(7)
const step: FastCheck.Arbitrary<(world: World) => void> = FastCheck.oneof(
  FastCheck.constant((world: World) => world.begin()),
  { weight: 6, arbitrary: FastCheck.tuple(nth, FastCheck.integer({ min: 1, max: 900 })).map(deliverStep) },
  { weight: 1, arbitrary: FastCheck.tuple(nth, FastCheck.integer({ min: 1, max: 30_000 })).map(deliverStep) },
  { weight: 4, arbitrary: nth.map((n) => (world: World) => world.completeExtension(n)) },
  nth.map((n) => (world: World) => world.end(n)),
  nth.map((n) => (world: World) => world.crash(n)),
  FastCheck.boolean().map((failing) => (world: World) => world.fail(failing))
)
function deliverStep([stream, characters]: [number, number]): (world: World) => void {
  return (world) => world.deliver(stream, characters)
}

const rate = FastCheck.bigInt({ min: 0n, max: 50n }).map(PicoPerToken)
const price = FastCheck.record({ input: rate, cacheWrite: rate, cacheRead: rate, output: rate })
const balance = FastCheck.oneof(FastCheck.constant(0n), FastCheck.bigInt({ min: 0n, max: 200_000n }))

describe("a stream whose prompt has unsized content", () => {
  const ONE = PicoPerToken(1n)
  const PRICE: Price = { input: ONE, cacheWrite: ONE, cacheRead: ONE, output: ONE }
  const UNSIZED = { ...size, hasUnsizedContent: true }

  const deliverUntilRefused = (world: World): number => {
    let sent = 0
    const [stream] = world.streams
    while (stream !== undefined && stream.allowance.refusal === undefined && sent < 1_000_000) {
      world.deliver(0, 30)
      world.completeExtension(0)
      sent = stream.delivery.text.sentCharacters
    }
    return sent
  }

  it("does not use the tokens that are set aside for this content, although its prompt was counted", () => {
    const world = new World(0n, 204_000n, PRICE)
    world.begin(UNSIZED)
    const tokens = BigInt(deliverUntilRefused(world)) / 3n
    expect(tokens).toBeLessThanOrEqual(4_000n - COUNTED_PROMPT)
    expect(tokens).toBeGreaterThan(3_900n - COUNTED_PROMPT)
    expect(world.writeOffIfReported(200_000n)).toBe(0n)
  })

  it("writes nothing off if the provider writes this content to a cache at a higher price", () => {
    const world = new World(0n, 404_000n, { ...PRICE, cacheWrite: PicoPerToken(2n) })
    world.begin(UNSIZED)
    expect(BigInt(deliverUntilRefused(world)) / 3n).toBeGreaterThan(3_900n - 2n * COUNTED_PROMPT)
    expect(world.writeOffIfReported(0n, 200_000n + COUNTED_PROMPT)).toBe(0n)
  })

  it("uses the tokens that are set aside for this content after the provider has reported a smaller prompt", () => {
    const world = new World(0n, 204_000n, PRICE)
    world.begin(UNSIZED)
    const prompt = { input: Tokens.Tokens(1_000n), cacheRead: Tokens.zero, cacheWrite: Tokens.zero }
    world.streams[0]?.delivery.recordReported({ prompt, output: undefined })
    expect(BigInt(deliverUntilRefused(world)) / 3n).toBeGreaterThan(202_900n)
    expect(world.writeOffIfReported(1_000n)).toBe(0n)
  })

  it("uses the whole balance and prevents other streams if the balance does not cover this content", () => {
    const world = new World(0n, 50_000n, PRICE)
    world.begin(UNSIZED)
    world.begin(UNSIZED)
    world.begin(size)
    expect(world.streams.length).toBe(1)
    expect(BigInt(deliverUntilRefused(world)) / 3n).toBeGreaterThan(49_900n - COUNTED_PROMPT)
  })
})

describe("a stream with a sufficient balance", () => {
  it("never waits if each extension is durable before the next frame", () => {
    const ONE = PicoPerToken(1n)
    const world = new World(0n, 10_000_000n, { input: ONE, cacheWrite: ONE, cacheRead: ONE, output: ONE })
    world.begin(size, false)
    for (let frames = 1; frames <= 1_000; frames++) {
      world.deliver(0, 90)
      world.completeExtension(0)
      expect(world.streams[0]?.delivery.text.sentDeltas).toBe(frames)
    }
  })
})

describe("streams that share a balance", () => {
  it("never deliver more than their holds cover, and write nothing off", () => {
    const worlds = FastCheck.tuple(balance, balance, price, FastCheck.array(step, { maxLength: 150 }))
    FastCheck.assert(
      FastCheck.property(worlds, ([plan, payg, prices, steps]) => {
        const world = new World(plan, payg, prices)
        for (const perform of steps) {
          perform(world)
          const { plan: planNow, payg: paygNow } = world.balances
          expect(planNow && Account.available(planNow)).toBeGreaterThanOrEqual(0n)
          expect(paygNow && Account.available(paygNow)).toBeGreaterThanOrEqual(0n)
          expect(planNow?.debitsPending).toBe(world.streams.reduce((sum, { hold }) => sum + hold.planTokens, 0n))
          expect(paygNow?.debitsPending).toBe(world.streams.reduce((sum, { hold }) => sum + hold.paygPico, 0n))
          for (const stream of world.streams) expect(world.uncoveredPico(stream)).toBe(0n)
        }
        for (const _ of [...world.streams]) world.end(0)
        expect(world.writtenOffPico).toBe(0n)
        expect([world.balances.plan?.debitsPending, world.balances.payg?.debitsPending]).toEqual([0n, 0n])
      }),
      { numRuns: 500 }
    )
  })
})
