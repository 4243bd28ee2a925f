import { covers, type Estimate, type Hold } from "@tollgate/domain/ledger/Hold"
import { availableBudget, type CountedLimits, countsAt, type KeyCounts } from "@tollgate/domain/ledger/KeyCounts"
import {
  decideKeyHold,
  growKeyHold,
  KeyBudgetExceeded,
  KeyRateLimited,
  settleKeyHold,
  shortageOf
} from "@tollgate/domain/ledger/KeyHold"
import * as Price from "@tollgate/domain/ledger/Price"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

/** Noon in Jakarta. */
const NOON = Date.parse("2026-11-20T05:00:00Z")
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const NO_LIMITS: CountedLimits = {
  spendPerDay: undefined,
  spendPerMonth: undefined,
  spendTotal: undefined,
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrentRequests: undefined
}

const NO_COUNTS: KeyCounts = {
  day: "2026-11-20",
  spentInDay: UsdPico(0n),
  spentInMonth: UsdPico(0n),
  spentTotal: UsdPico(0n),
  pending: UsdPico(0n),
  openRequests: 0,
  window: { number: 0n, beganAtMillis: 0, requests: 0, tokens: 0n }
}

const rate = Price.PicoPerToken(1n)
const PRICE: Price.Price = { input: rate, cacheWrite: rate, cacheRead: rate, output: rate }

const estimateOf = (input: bigint, output: bigint): Estimate => ({
  inputFloor: Tokens(input),
  inputCeiling: Tokens(input),
  output: Tokens(output)
})

const usageOf = (input: bigint, output: bigint) => TokenUsage.plain(Tokens(input), Tokens(output))

const demandOf = (tokens: bigint, streamed = true) => ({
  estimate: estimateOf(tokens - 1n, 1n),
  price: PRICE,
  streamed
})

/** Decides equal requests until one is refused. */
const untilRefused = (limits: CountedLimits, counts: KeyCounts, nowMillis: number, tokens = 10n) => {
  let now = counts
  for (let admitted = 0; ; admitted++) {
    const decided = decideKeyHold(demandOf(tokens), { limits, counts: now }, nowMillis)
    if (Either.isLeft(decided)) return { admitted, refusal: decided.left, counts: now }
    now = decided.right.counts
  }
}

const small = FastCheck.bigInt({ min: 0n, max: 60n })
const optional = FastCheck.option(
  FastCheck.bigInt({ min: 0n, max: 400n }).map((n) => UsdPico(n)),
  { nil: undefined }
)
const limitsOfSpend = FastCheck.record({ spendPerDay: optional, spendPerMonth: optional, spendTotal: optional }).map(
  (spend): CountedLimits => ({ ...NO_LIMITS, ...spend })
)

interface Step {
  readonly kind: "admit" | "extend" | "settle"
  readonly which: number
  readonly input: bigint
  readonly output: bigint
  readonly streamed: boolean
  readonly laterMillis: number
}

const steps: FastCheck.Arbitrary<ReadonlyArray<Step>> = FastCheck.array(
  FastCheck.record({
    kind: FastCheck.constantFrom("admit" as const, "extend" as const, "settle" as const),
    which: FastCheck.nat(9),
    input: small,
    output: small,
    streamed: FastCheck.boolean(),
    laterMillis: FastCheck.oneof(FastCheck.nat(10_000), FastCheck.constantFrom(HOUR, DAY, 20 * DAY))
  }),
  { maxLength: 40 }
)

interface Running {
  hold: Hold
  readonly input: bigint
  delivered: bigint
}

const EVERYTHING = { planTokens: Tokens(1_000_000n), paygPico: UsdPico(0n) }

/** Plays steps. Each request delivers all tokens that its hold covers, up to 500. */
const play = (limits: CountedLimits, all: ReadonlyArray<Step>, onStep: (counts: KeyCounts, now: number) => void) => {
  let counts = NO_COUNTS
  let now = NOON
  const running: Array<Running> = []
  for (const { input, kind, laterMillis, output, streamed, which } of all) {
    now += laterMillis
    const at = running.length === 0 ? -1 : which % running.length
    const request = running[at]
    if (kind === "admit") {
      const decided = decideKeyHold(
        { estimate: estimateOf(input, output), price: PRICE, streamed },
        { limits, counts },
        now
      )
      if (Either.isRight(decided)) {
        const { counts: after, hold } = decided.right
        counts = after
        running.push({ hold: { ...EVERYTHING, key: hold }, input, delivered: 0n })
      }
    } else if (request?.hold.key !== undefined) {
      const { key } = request.hold
      while (covers(request.hold, usageOf(request.input, request.delivered + 1n), PRICE) && request.delivered < 500n)
        request.delivered += 1n
      if (kind === "extend") {
        const grown = growKeyHold(
          key,
          usageOf(request.input, request.delivered + output),
          PRICE,
          { limits, counts },
          now
        )
        counts = grown.counts
        request.hold = { ...request.hold, key: grown.hold }
      } else {
        const charged = covers(request.hold, usageOf(request.input, request.delivered), PRICE)
          ? usageOf(request.input, request.delivered)
          : usageOf(0n, 0n)
        counts = settleKeyHold(key, Price.cost(PRICE, charged), charged, counts, now)
        running.splice(at, 1)
      }
    }
    onStep(counts, now)
  }
  return { counts, running, now }
}

describe("a key's budget", () => {
  property("is never exceeded while no request costs more than its hold", [limitsOfSpend, steps], (limits, all) => {
    let isKept = true
    play(limits, all, ({ pending, spentInDay, spentInMonth, spentTotal }) => {
      isKept &&= limits.spendPerDay === undefined || spentInDay + pending <= limits.spendPerDay
      isKept &&= limits.spendPerMonth === undefined || spentInMonth + pending <= limits.spendPerMonth
      isKept &&= limits.spendTotal === undefined || spentTotal + pending <= limits.spendTotal
    })
    return isKept
  })

  property("has the sum of its open holds as its pending amount", [limitsOfSpend, steps], (limits, all) => {
    const { counts, running } = play(limits, all, () => {})
    const held = running.reduce((sum, { hold }) => sum + (hold.key?.budgetPico ?? 0n), 0n)
    return counts.pending === held && counts.openRequests === running.length
  })

  property("never has more spend in the day than in the month", [limitsOfSpend, steps], (limits, all) => {
    let isOrdered = true
    play(limits, all, ({ spentInDay, spentInMonth, spentTotal }) => {
      isOrdered &&= spentInDay <= spentInMonth && spentInMonth <= spentTotal
    })
    return isOrdered
  })

  it("admits as many requests as it covers", () => {
    const result = untilRefused({ ...NO_LIMITS, spendPerDay: UsdPico(100n) }, NO_COUNTS, NOON)
    expect(result.admitted).toBe(10)
    expect(result.refusal).toBeInstanceOf(KeyBudgetExceeded)
  })

  it("sets aside the input limit of a prompt if it is large", () => {
    const estimate = { ...estimateOf(9n, 1n), inputLimit: Tokens(19n) }
    const heldFrom = (spendTotal: bigint) => {
      const key = { limits: { ...NO_LIMITS, spendTotal: UsdPico(spendTotal) }, counts: NO_COUNTS }
      return Either.getOrThrow(decideKeyHold({ estimate, price: PRICE, streamed: false }, key, NOON)).hold.budgetPico
    }
    expect(heldFrom(110n)).toBe(20n)
    expect(heldFrom(109n)).toBe(10n)
  })

  const limits = { ...NO_LIMITS, spendPerDay: UsdPico(100n), spendPerMonth: UsdPico(150n) }
  const spent = { ...NO_COUNTS, spentInDay: UsdPico(100n), spentInMonth: UsdPico(100n), spentTotal: UsdPico(100n) }

  it("for a day is renewed at midnight in Jakarta", () => {
    const midnight = Date.parse("2026-11-20T17:00:00Z")
    expect(availableBudget(limits, countsAt(spent, midnight - 1))).toBe(0n)
    expect(availableBudget(limits, countsAt(spent, midnight))).toBe(50n)
  })

  it("for a month is renewed when the month ends in Jakarta", () => {
    const end = Date.parse("2026-11-30T17:00:00Z")
    expect(availableBudget(limits, countsAt(spent, end - 1))).toBe(50n)
    expect(availableBudget(limits, countsAt(spent, end))).toBe(100n)
  })

  it("does not change to the previous day if a clock is behind", () => {
    const today = countsAt({ ...NO_COUNTS, day: "2026-11-21", spentInDay: UsdPico(7n) }, NOON)
    expect(today).toMatchObject({ day: "2026-11-21", spentInDay: 7n })
  })

  const key = { limits: { ...NO_LIMITS, spendTotal: UsdPico(60n) }, counts: NO_COUNTS }
  const demand = { estimate: estimateOf(10n, 100n), price: PRICE }

  it("admits a stream that it covers in part", () => {
    const stream = decideKeyHold({ ...demand, streamed: true }, key, NOON)
    expect(Either.getOrThrow(stream).hold.budgetPico).toBe(60n)
  })

  it("refuses a whole response that it covers in part", () => {
    expect(decideKeyHold({ ...demand, streamed: false }, key, NOON)).toEqual(Either.left(new KeyBudgetExceeded()))
  })

  it("refuses a stream with unsized content that it covers in part", () => {
    const unsized = { ...demand.estimate, unsizedInput: Tokens(50n) }
    expect(decideKeyHold({ ...demand, estimate: unsized, streamed: true }, key, NOON)).toEqual(
      Either.left(new KeyBudgetExceeded())
    )
  })

  it("is the cause of a shortage only if the balances cover the usage", () => {
    const key = { budgetPico: UsdPico(5n), tokens: Tokens(1n), window: 1n }
    const hold: Hold = { planTokens: Tokens(8n), paygPico: UsdPico(0n), key }
    expect(shortageOf(hold, usageOf(2n, 3n), PRICE)).toBeUndefined()
    expect(shortageOf(hold, usageOf(2n, 4n), PRICE)).toEqual(new KeyBudgetExceeded())
    expect(shortageOf(hold, usageOf(2n, 7n), PRICE)?._tag).toBe("InsufficientBalance")
  })

  it("is decided without an exception for a hold that a sweep has released", () => {
    const hold = { budgetPico: UsdPico(100n), tokens: Tokens(10n), window: 1n }
    const key = { limits: { ...NO_LIMITS, spendTotal: UsdPico(1_000n) }, counts: NO_COUNTS }
    expect(settleKeyHold(hold, UsdPico(10n), usageOf(9n, 1n), NO_COUNTS, NOON).pending).toBe(-100n)
    const unlimited = { limits: { ...NO_LIMITS, requestsPerMinute: 1 }, counts: NO_COUNTS }
    expect(growKeyHold(hold, usageOf(9n, 1n), PRICE, unlimited, NOON).counts.pending).toBe(-100n)
    expect(growKeyHold(hold, usageOf(150n, 50n), PRICE, key, NOON).hold.budgetPico).toBe(200n)
  })
})

describe("a key's rate", () => {
  it("has a window of 60 seconds that begins with a request", () => {
    const limits = { ...NO_LIMITS, requestsPerMinute: 5 }
    const first = untilRefused(limits, NO_COUNTS, NOON)
    expect(first.admitted).toBe(5)
    expect(first.refusal).toEqual(
      new KeyRateLimited({
        limit: "requests",
        retryAfterSeconds: 60,
        requests: { limit: 5, remaining: 0, resetSeconds: 60 },
        tokens: undefined
      })
    )
    expect(untilRefused(limits, first.counts, NOON + MINUTE - 1)).toMatchObject({ admitted: 0 })
    expect(untilRefused(limits, first.counts, NOON + MINUTE).admitted).toBe(5)
  })

  it("begins a new window after the clock was set back by at least 60 seconds", () => {
    const limits = { ...NO_LIMITS, requestsPerMinute: 5 }
    const { counts } = untilRefused(limits, NO_COUNTS, NOON)
    expect(untilRefused(limits, counts, NOON - MINUTE + 1).admitted).toBe(0)
    expect(untilRefused(limits, counts, NOON - HOUR).admitted).toBe(5)
  })

  property(
    "admits the requests that its limits of requests and tokens allow",
    [
      FastCheck.integer({ min: 1, max: 20 }),
      FastCheck.bigInt({ min: 1n, max: 200n }),
      FastCheck.bigInt({ min: 1n, max: 50n })
    ],
    (requests, tokens, each) => {
      const limits = { ...NO_LIMITS, requestsPerMinute: requests, tokensPerMinute: tokens }
      const { admitted, refusal } = untilRefused(limits, NO_COUNTS, NOON, each)
      if (!(refusal instanceof KeyRateLimited)) return false
      // A request that is larger than the limit is admitted alone.
      const byTokens = each > tokens ? 1n : tokens / each
      return BigInt(admitted) === (BigInt(requests) < byTokens ? BigInt(requests) : byTokens)
    }
  )

  it("counts the charged tokens after a settlement instead of the estimate", () => {
    const limits = { ...NO_LIMITS, tokensPerMinute: 100n }
    const { counts, hold } = Either.getOrThrow(decideKeyHold(demandOf(90n), { limits, counts: NO_COUNTS }, NOON))
    const settled = settleKeyHold(hold, UsdPico(0n), usageOf(10n, 20n), counts, NOON + 1)
    expect(settled.window.tokens).toBe(30n)
  })

  it("counts the tokens above the estimate in the window of the settlement", () => {
    const limits = { ...NO_LIMITS, tokensPerMinute: 100n }
    const { counts, hold } = Either.getOrThrow(decideKeyHold(demandOf(10n), { limits, counts: NO_COUNTS }, NOON))
    const more = settleKeyHold(hold, UsdPico(0n), usageOf(10n, 70n), counts, NOON + 2 * MINUTE)
    expect(more.window).toEqual({ number: 2n, beganAtMillis: NOON + 2 * MINUTE, requests: 0, tokens: 70n })
    const less = settleKeyHold(hold, UsdPico(0n), usageOf(1n, 1n), more, NOON + 2 * MINUTE)
    expect(less.window.tokens).toBe(70n)
  })

  it("limits the requests that run at the same time", () => {
    const limits = { ...NO_LIMITS, concurrentRequests: 2 }
    const { admitted, counts, refusal } = untilRefused(limits, NO_COUNTS, NOON)
    expect(admitted).toBe(2)
    expect(refusal).toMatchObject({ limit: "concurrent", retryAfterSeconds: 1 })
    const hold = { budgetPico: undefined, tokens: Tokens(10n), window: 1n }
    const settled = settleKeyHold(hold, UsdPico(0n), usageOf(9n, 1n), counts, NOON)
    expect(untilRefused(limits, settled, NOON).admitted).toBe(1)
  })
})
