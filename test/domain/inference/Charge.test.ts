import { chargeFor, needsLocalCount, type Outcome } from "@tollgate/domain/inference/Charge"
import * as ReportedUsage from "@tollgate/domain/inference/ReportedUsage"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import * as Tokens from "@tollgate/domain/money/Tokens"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { tokens } from "../../support/arbitraries.ts"
import { property } from "../../support/property.ts"

const n = (count: bigint) => Tokens.Tokens(count)
const prompt = (input: bigint, cacheRead = 0n) => ({ input: n(input), cacheWrite: n(0n), cacheRead: n(cacheRead) })
const counts = (p: bigint, output: bigint) => ({ prompt: () => n(p), deliveredOutput: () => n(output) })
const { unreported } = ReportedUsage

describe("a charge", () => {
  it("is the reported usage if the response is complete", () => {
    const outcome: Outcome = {
      ending: "complete",
      reported: { prompt: prompt(10n, 5n), output: n(7n) },
      deltas: 1,
      deltasAtLastOutputReport: 1
    }
    const { charged, source } = chargeFor(outcome, counts(99n, 99n))
    expect(charged).toEqual({ input: 10n, cacheWrite: 0n, cacheRead: 5n, output: 7n })
    expect(source).toBe("upstream")
  })

  it("is 0 if the response is complete and 0 is reported", () => {
    const outcome: Outcome = {
      ending: "complete",
      reported: { prompt: prompt(0n), output: n(0n) },
      deltas: 1,
      deltasAtLastOutputReport: 1
    }
    expect(chargeFor(outcome, counts(99n, 99n)).charged).toEqual(TokenUsage.none)
  })

  it("of a complete response without reported usage is a local count", () => {
    const outcome: Outcome = { ending: "complete", reported: unreported, deltas: 1, deltasAtLastOutputReport: 1 }
    expect(chargeFor(outcome, counts(10n, 7n))).toMatchObject({ charged: { input: 10n, output: 7n }, source: "local" })
  })

  it("is the reported usage of a complete response without a delta", () => {
    const outcome: Outcome = {
      ending: "complete",
      reported: { prompt: prompt(10n), output: n(7n) },
      deltas: 0,
      deltasAtLastOutputReport: 0
    }
    expect(chargeFor(outcome, counts(0n, 0n)).charged).toMatchObject({ input: 10n, output: 7n })
  })

  it.each(["client_gone", "upstream_cut", "balance_exhausted"] as const)(
    "after a delta and the ending %s is the prompt and the delivered output",
    (ending) => {
      const outcome: Outcome = { ending, reported: unreported, deltas: 1, deltasAtLastOutputReport: 1 }
      expect(chargeFor(outcome, counts(10n, 3n))).toMatchObject({
        charged: { input: 10n, output: 3n },
        source: "local"
      })
    }
  )

  it("has a local output count if the stream is cut before an output report", () => {
    const outcome: Outcome = {
      ending: "client_gone",
      reported: { prompt: prompt(40n, 2n), output: undefined },
      deltas: 1,
      deltasAtLastOutputReport: 1
    }
    expect(chargeFor(outcome, counts(99n, 3n))).toMatchObject({
      charged: { input: 40n, cacheRead: 2n, output: 3n },
      source: "mixed"
    })
  })

  it("has at most the reported output if the stream is cut after the report", () => {
    const outcome: Outcome = {
      ending: "client_gone",
      reported: { prompt: prompt(5n), output: n(20n) },
      deltas: 1,
      deltasAtLastOutputReport: 1
    }
    const few = chargeFor(outcome, counts(0n, 3n))
    expect(few.charged.output).toBe(3n)
    expect(few.consumed.output).toBe(20n)
    expect(chargeFor(outcome, counts(0n, 25n)).charged.output).toBe(20n)
  })

  it.each([
    ["zeros in every chunk", 0n, 0n, 41, 8n],
    ["a count with its first chunk", 10n, 1n, 1, 10n]
  ])(
    "of a cut stream has a locally counted output if the stream reported only %s",
    (_, input, output, deltasAtLastOutputReport, chargedInput) => {
      const outcome: Outcome = {
        ending: "client_gone",
        reported: { prompt: prompt(input), output: n(output) },
        deltas: 41,
        deltasAtLastOutputReport
      }
      const { charged, consumed } = chargeFor(outcome, counts(8n, 45n))
      expect(charged).toMatchObject({ input: chargedInput, output: 45n })
      expect(consumed).toEqual(charged)
    }
  )

  it("has at most the output that a cut stream reported with each delta", () => {
    const outcome: Outcome = {
      ending: "upstream_cut",
      reported: { prompt: prompt(5n), output: n(41n) },
      deltas: 41,
      deltasAtLastOutputReport: 40
    }
    expect(chargeFor(outcome, counts(0n, 45n)).charged.output).toBe(41n)
  })

  it("has at most the output that a cut stream reported after all deltas", () => {
    const outcome: Outcome = {
      ending: "upstream_cut",
      reported: { prompt: prompt(5n), output: n(2n) },
      deltas: 3,
      deltasAtLastOutputReport: 3
    }
    expect(chargeFor(outcome, counts(0n, 3n)).charged.output).toBe(2n)
  })

  it.each(["client_gone", "upstream_cut", "balance_exhausted", "failed"] as const)(
    "is nothing before the first delta with the ending %s",
    (ending) => {
      const outcome: Outcome = {
        ending,
        reported: { prompt: prompt(5n), output: n(20n) },
        deltas: 0,
        deltasAtLastOutputReport: 0
      }
      const charge = chargeFor(outcome, counts(9n, 9n))
      expect(charge.charged).toEqual(TokenUsage.none)
      expect(charge.consumed).toMatchObject({ input: 5n, output: 20n })
    }
  )

  const reported = FastCheck.record({
    prompt: FastCheck.option(
      tokens().map((input) => ({ input, cacheWrite: n(0n), cacheRead: n(0n) })),
      { nil: undefined }
    ),
    output: FastCheck.option(tokens(), { nil: undefined })
  })
  const outcome: FastCheck.Arbitrary<Outcome> = FastCheck.record({
    ending: FastCheck.constantFrom("complete", "client_gone", "upstream_cut", "balance_exhausted", "failed"),
    reported,
    deltas: FastCheck.nat({ max: 30 }),
    deltasAtLastOutputReport: FastCheck.nat({ max: 30 })
  })

  property(
    "of a stream that is cut after its last output report has at least one token for each delta if the local count has",
    [outcome, tokens(), tokens()],
    (o, p, extra) => {
      const counted = n(BigInt(o.deltas) + extra)
      return (
        o.ending === "complete" ||
        o.deltas <= o.deltasAtLastOutputReport ||
        chargeFor(o, counts(p, counted)).charged.output >= BigInt(o.deltas)
      )
    }
  )

  property(
    "never has more output than the local count if the stream is cut",
    [outcome, tokens(), tokens()],
    (o, p, output) => {
      const { charged } = chargeFor(o, counts(p, output))
      return o.ending === "complete" || charged.output <= output
    }
  )

  property("never exceeds the usage that the provider consumed", [outcome, tokens(), tokens()], (o, p, output) => {
    const { charged, consumed } = chargeFor(o, counts(p, output))
    return TokenUsage.total(charged) <= TokenUsage.total(consumed)
  })

  property("calls a local counter exactly if `needsLocalCount` returns true", [outcome], (o) => {
    let isCalled = false
    const counter = () => {
      isCalled = true
      return n(1n)
    }
    chargeFor(o, { prompt: counter, deliveredOutput: counter })
    return isCalled === needsLocalCount(o)
  })
})

describe("reported usage", () => {
  it("is the last count above 0 if zeros follow", () => {
    const running = [1n, 5n, 9n].map((output) => ({ prompt: prompt(3n), output: n(output) }))
    const zeros = { prompt: prompt(0n), output: n(0n) }
    const merged = [...running, zeros, unreported].reduce(ReportedUsage.merge, unreported)
    expect(merged).toEqual({ prompt: prompt(3n), output: 9n })
  })

  it("is a reported zero if no other count precedes the zero", () => {
    expect(ReportedUsage.merge(unreported, { prompt: undefined, output: n(0n) }).output).toBe(0n)
  })

  property("adds up to the whole prompt for any number of cached tokens", [tokens(), tokens()], (whole, cached) => {
    const { input, cacheRead } = ReportedUsage.promptIncludingCached(whole, cached)
    return input + cacheRead === whole
  })
})
