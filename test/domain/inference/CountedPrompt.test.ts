import { type CountedPrompt, isExtensionNeeded, promptShortage } from "@tollgate/domain/inference/CountedPrompt"
import { type Hold, InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { KeyBudgetExceeded } from "@tollgate/domain/ledger/KeyHold"
import { PicoPerToken } from "@tollgate/domain/ledger/Price"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import { describe, expect, it } from "vitest"

const ONE = PicoPerToken(1n)

/** The estimate has 100 prompt tokens, and the count has 200. */
const prompt = (changes: Partial<CountedPrompt> = {}): CountedPrompt => ({
  estimate: { inputFloor: Tokens(50n), inputCeiling: Tokens(100n), inputLimit: Tokens(300n), output: Tokens(50n) },
  price: { input: ONE, cacheWrite: ONE, cacheRead: ONE, output: ONE },
  streamed: false,
  counted: Tokens(200n),
  ...changes
})

const holdOf = (pico: bigint, budget?: bigint): Hold => ({
  planTokens: Tokens(0n),
  paygPico: UsdPico(pico),
  ...(budget === undefined ? {} : { key: { budgetPico: UsdPico(budget), tokens: Tokens(150n), window: 1n } })
})

describe("the counted prompt", () => {
  it("of a whole response must be covered by the budget together with its largest output", () => {
    expect(promptShortage(holdOf(150n, 150n), holdOf(250n, 249n), prompt())).toBeInstanceOf(KeyBudgetExceeded)
    expect(promptShortage(holdOf(150n, 150n), holdOf(250n, 250n), prompt())).toBeUndefined()
  })

  it("of a whole response extends the budget part of a hold that has set aside the whole balance", () => {
    expect(isExtensionNeeded(holdOf(149n, 150n), prompt())).toBe(true)
    expect(isExtensionNeeded(holdOf(149n, 250n), prompt())).toBe(false)
    expect(promptShortage(holdOf(149n, 150n), holdOf(149n, 250n), prompt({ counted: Tokens(140n) }))).toBeUndefined()
  })

  it("of a stream must be covered by the budget together with one output token", () => {
    const streamed = { streamed: true }
    expect(promptShortage(holdOf(150n, 150n), holdOf(250n, 200n), prompt(streamed))).toBeInstanceOf(KeyBudgetExceeded)
    expect(promptShortage(holdOf(150n, 150n), holdOf(250n, 201n), prompt(streamed))).toBeUndefined()
  })

  it("of a stream must be covered at its highest price if the hold covered the estimate at this price", () => {
    const { price } = prompt()
    const written = prompt({ streamed: true, price: { ...price, cacheWrite: PicoPerToken(2n) } })
    expect(promptShortage(holdOf(250n), holdOf(400n), written)).toBeInstanceOf(InsufficientBalance)
    expect(promptShortage(holdOf(250n), holdOf(401n), written)).toBeUndefined()
    expect(promptShortage(holdOf(249n), holdOf(249n), written)).toBeUndefined()
  })

  it("of a whole response is refused if its hold covers the estimate and cannot grow", () => {
    expect(promptShortage(holdOf(240n), holdOf(240n), prompt())).toBeInstanceOf(InsufficientBalance)
    expect(promptShortage(holdOf(240n), holdOf(241n), prompt())).toBeUndefined()
  })
})
