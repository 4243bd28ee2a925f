import { type CoveredPrompt, coverPrompt, type PromptShortage } from "@tollgate/application/inference/CoverPrompt"
import type { Admission, Callback, Extension, InferenceLedger } from "@tollgate/application/ledger/InferenceLedger"
import { ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { UserId } from "@tollgate/domain/customer/User"
import { estimate } from "@tollgate/domain/inference/Estimate"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { AccountId } from "@tollgate/domain/ledger/Account"
import { type Balances, decideHold, extendHold, type Hold, InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { PicoPerToken, type Price } from "@tollgate/domain/ledger/Price"
import { decideSettlement } from "@tollgate/domain/ledger/Settlement"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { Effect, Either, Exit, FastCheck } from "effect"
import { describe, expect, it } from "vitest"

const rate = PicoPerToken(1n)
const PRICE: Price = { input: rate, cacheWrite: rate, cacheRead: rate, output: rate }
const OUTPUT = Tokens.Tokens(10n)

interface Prompt {
  readonly bytes: number
  /** At most the number of bytes. */
  readonly tokens: number
  readonly streamed: boolean
  readonly hasUnsizedContent?: boolean
  readonly images?: number
}

interface Running {
  readonly admission: Admission
  readonly prompt: Prompt
  hold: Hold
}

/** A customer with a pay-as-you-go balance. A request is sent to a provider if its hold covers its prompt. */
class World {
  balances: Balances
  counts = 0
  extensions = 0
  ledgerFails = false
  writtenOffPico = 0n
  readonly running: Array<Running> = []
  /** The counts of prompts that have not ended; undefined if each count ends immediately. */
  counting: Array<() => void> | undefined
  readonly #output: Tokens.Tokens

  constructor(paygPico: bigint, output = OUTPUT) {
    this.#output = output
    const nothing = UsdPico(0n)
    const payg = {
      id: AccountId("payg"),
      creditsPosted: UsdPico(paygPico),
      debitsPosted: nothing,
      debitsPending: nothing
    }
    this.balances = { plan: undefined, payg }
  }

  get available(): bigint {
    const { payg } = this.balances
    return payg === undefined ? 0n : payg.creditsPosted - payg.debitsPosted - payg.debitsPending
  }

  /** Returns the result of the request's cover; undefined if the request was not admitted, or if its count waits. */
  send(prompt: Prompt): Exit.Exit<CoveredPrompt, PromptShortage> | undefined {
    const { bytes, streamed, hasUnsizedContent = false, images = 0 } = prompt
    const maxOutputTokens = Tokens.toCount(this.#output)
    const size = { textBytes: bytes, attachments: images, hasUnsizedContent, maxOutputTokens, choices: 1 }
    const admission: Admission = {
      requestId: RequestId("request"),
      principal: { keyId: KEY, userId: USER },
      modelId: ModelId("m"),
      priceId: PriceId("p"),
      price: PRICE,
      protocol: "chat",
      streamed,
      estimate: estimate(size, { streamed, modelMaxOutputTokens: undefined })
    }
    const held = decideHold(admission.estimate, PRICE, this.balances)
    if (Either.isLeft(held)) return undefined
    this.balances = held.right
    const running: Running = { admission, prompt, hold: held.right.hold }
    const request = {
      model: "m",
      streamed,
      size,
      promptText: () => ({ text: "x".repeat(prompt.tokens), extraTokens: 765 * images })
    }
    let result: Exit.Exit<CoveredPrompt, PromptShortage> | undefined
    coverPrompt(
      running.hold,
      admission,
      request,
      { ledger: this.#ledgerOf(running), counter: this.#counter, run: this.#run },
      (exit) => {
        result = exit
        if (Exit.isSuccess(exit)) {
          expect(exit.value.hold).toBe(running.hold)
          this.running.push(running)
        } else this.#settle(running, TokenUsage.none)
      }
    )
    if (result === undefined && this.counting === undefined) throw new Error("the result is missing")
    return result
  }

  /** Ends all requests that used their whole prompt and their largest output. */
  endAll(): void {
    for (const running of this.running.splice(0)) {
      this.#settle(running, TokenUsage.plain(Tokens.fromCount(running.prompt.tokens), this.#output))
    }
  }

  /** Ends a request that used its whole prompt, and as much output as its hold covers. */
  end(nth: number): void {
    const [running] = this.running.splice(nth % Math.max(1, this.running.length), 1)
    if (running === undefined) return
    const { hold, prompt } = running
    const output = Tokens.min(this.#output, Tokens.Tokens(hold.paygPico - BigInt(prompt.tokens)))
    this.#settle(running, TokenUsage.plain(Tokens.fromCount(prompt.tokens), output))
  }

  #settle({ hold }: Running, charged: TokenUsage.TokenUsage): void {
    const after = decideSettlement(hold, { charged, consumed: charged, source: "upstream" }, PRICE, this.balances)
    this.balances = after
    this.writtenOffPico += after.settlement.writeoffPico
  }

  readonly #counter = {
    count: (text: string) => {
      this.counts += 1
      return Effect.succeed(Tokens.fromCount(text.length))
    }
  }

  readonly #run = <A, E>(effect: Effect.Effect<A, E>, callback: Callback<A, E>) => {
    const end = () => callback(Effect.runSyncExit(effect))
    if (this.counting === undefined) end()
    else this.counting.push(end)
  }

  #ledgerOf(running: Running): InferenceLedger["Type"] {
    const extend = ({ usage }: Extension, callback: Callback<Hold | undefined, Overloaded>) => {
      this.extensions += 1
      if (this.ledgerFails) return callback(OVERLOADED)
      const held = extendHold(running.hold, usage, running.admission, this.balances)
      this.balances = held
      running.hold = held.hold
      callback(Exit.succeed(held.hold))
    }
    return { extend } as InferenceLedger["Type"]
  }
}

const OVERLOADED = Exit.fail(new Overloaded({ retryAfterSeconds: 1 }))
const KEY = ApiKeyId.make("019a9f0e-0000-7000-8000-000000000001")
const USER = UserId.make("019a9f0e-0000-7000-8000-000000000002")

describe("a prompt", () => {
  const dense = { bytes: 3_000, tokens: 3_000, streamed: false }

  it("is not counted if the balance is large", () => {
    const world = new World(1_000_000n)
    expect(world.send(dense)).toSatisfy(Exit.isSuccess)
    expect(world.counts).toBe(0)
    expect(world.running[0]?.hold.paygPico).toBe(3_010n)
  })

  it("is counted if the balance is small, and the hold is extended if the count exceeds the estimate", () => {
    const world = new World(4_000n)
    expect(world.send(dense)).toSatisfy(Exit.isSuccess)
    expect([world.counts, world.extensions]).toEqual([1, 1])
    expect(world.running[0]?.hold.paygPico).toBe(3_010n)
  })

  it("is counted with the tokens that a hold sets aside for an image", () => {
    const world = new World(1_700n)
    expect(world.send({ bytes: 30, tokens: 10, streamed: true, images: 1 })).toMatchObject({
      value: { counted: 1_610n }
    })
  })

  it("is counted without an extension if the estimate covers it", () => {
    const world = new World(4_000n)
    expect(world.send({ ...dense, tokens: 900 })).toSatisfy(Exit.isSuccess)
    expect([world.counts, world.extensions]).toEqual([1, 0])
    expect(world.available).toBe(4_000n - 1_010n)
  })

  it("is counted without an extension if the hold has set aside the whole balance", () => {
    const world = new World(950n)
    expect(world.send({ ...dense, tokens: 900 })).toSatisfy(Exit.isSuccess)
    expect([world.counts, world.extensions]).toEqual([1, 0])
    expect(world.available).toBe(0n)
  })

  it("is refused if the balance does not cover its count and one output token", () => {
    const world = new World(3_000n)
    expect(world.send(dense)).toEqual(Exit.fail(new InsufficientBalance()))
    expect(world.available).toBe(3_000n)
  })

  it("is refused as overloaded if the ledger cannot extend the hold", () => {
    const world = new World(4_000n)
    world.ledgerFails = true
    expect(world.send(dense)).toEqual(OVERLOADED)
  })
})

describe("a whole response with a prompt of rare characters", () => {
  const dense = { bytes: 1_500, tokens: 1_200, streamed: false }
  const OF_1000 = Tokens.Tokens(1_000n)

  it("is sent to a provider if it is the only request, although the balance does not cover its largest output", () => {
    const world = new World(2_000n, OF_1000)
    expect(world.send(dense)).toSatisfy(Exit.isSuccess)
    expect([world.extensions, world.available]).toEqual([1, 0n])
  })

  it("is refused if the rest of the balance does not cover its largest output, because of another request", () => {
    const world = new World(4_000n, OF_1000)
    expect(world.send(dense)).toSatisfy(Exit.isSuccess)
    expect(world.available).toBe(1_800n)
    expect(world.send(dense)).toEqual(Exit.fail(new InsufficientBalance()))
    expect(world.available).toBe(1_800n)
  })

  it("writes nothing off if others are admitted before its prompt is counted", () => {
    const world = new World(11_000n, OF_1000)
    world.counting = []
    for (let i = 0; i < 8; i++) world.send(dense)
    for (const end of world.counting) end()
    expect(world.running.length).toBeGreaterThanOrEqual(3)
    world.endAll()
    expect(world.writtenOffPico).toBe(0n)
  })
})

describe("a stream with unsized content and a prompt of rare characters", () => {
  const unsized = { bytes: 3_000, tokens: 3_000, streamed: true, hasUnsizedContent: true }

  it("is refused before a provider is called if the balance does not cover both", () => {
    expect(new World(202_000n).send(unsized)).toEqual(Exit.fail(new InsufficientBalance()))
    expect(new World(203_001n).send(unsized)).toSatisfy(Exit.isSuccess)
  })

  it("is sent to a provider as the only request if the balance does not cover the unsized content", () => {
    expect(new World(10_000n).send(unsized)).toSatisfy(Exit.isSuccess)
  })
})

describe("requests that share a balance", () => {
  const prompt = FastCheck.tuple(FastCheck.nat(3_000), FastCheck.nat(1_000), FastCheck.boolean()).map(
    ([bytes, thousandths, streamed]): Prompt => ({ bytes, tokens: Math.floor((bytes * thousandths) / 1_000), streamed })
  )
  const step = FastCheck.oneof(
    { weight: 3, arbitrary: prompt.map((each) => (world: World) => void world.send(each)) },
    { weight: 2, arbitrary: FastCheck.nat(20).map((nth) => (world: World) => world.end(nth)) },
    FastCheck.boolean().map((fails) => (world: World) => {
      world.ledgerFails = fails
    })
  )

  it("write nothing off because of their prompts", () => {
    const worlds = FastCheck.tuple(
      FastCheck.bigInt({ min: 0n, max: 60_000n }),
      FastCheck.array(step, { maxLength: 80 })
    )
    FastCheck.assert(
      FastCheck.property(worlds, ([paygPico, steps]) => {
        const world = new World(paygPico)
        for (const perform of steps) {
          perform(world)
          for (const { hold, prompt } of world.running) expect(hold.paygPico).toBeGreaterThan(BigInt(prompt.tokens))
        }
        while (world.running.length > 0) world.end(0)
        expect(world.writtenOffPico).toBe(0n)
      }),
      { numRuns: 500 }
    )
  })
})
