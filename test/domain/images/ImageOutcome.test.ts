import { ContentPolicyViolation } from "@tollgate/domain/images/ImageErrors"
import { type ImageEnd, outcomeOf, reviewOf } from "@tollgate/domain/images/ImageOutcome"
import { nothing } from "@tollgate/domain/inference/Charge"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import * as TokenUsage from "@tollgate/domain/ledger/TokenUsage"
import { zero } from "@tollgate/domain/money/Tokens"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { tokens, usage } from "../../support/arbitraries.ts"
import { property } from "../../support/property.ts"

const reported: FastCheck.Arbitrary<ReportedUsage> = FastCheck.record({
  prompt: FastCheck.option(
    usage.map(({ cacheRead, cacheWrite, input }) => ({ cacheRead, cacheWrite, input })),
    { nil: undefined }
  ),
  output: FastCheck.option(tokens(), { nil: undefined })
})
const error = new UpstreamFailed({ cause: "a test" })
const end: FastCheck.Arbitrary<ImageEnd> = FastCheck.oneof(
  reported.map((usage): ImageEnd => ({ _tag: "Completed", usage })),
  reported.map((usage): ImageEnd => ({ _tag: "ClientGone", usage })),
  reported.map((usage): ImageEnd => ({ _tag: "TooLarge", usage })),
  reported.map((usage): ImageEnd => ({ _tag: "Failed", error, usage })),
  FastCheck.constantFrom<Array<ImageEnd>>(
    { _tag: "ClientGone", usage: undefined },
    { _tag: "TooLarge", usage: undefined },
    { _tag: "TimedOut" },
    { _tag: "Declined", error: new ContentPolicyViolation({ message: "no" }) },
    { _tag: "Failed", error }
  )
)

const asUsage = ({ output, prompt }: ReportedUsage) => ({ ...TokenUsage.none, ...prompt, output: output ?? zero })

describe("an image request", () => {
  property("charges exactly the reported usage of a delivered image, and nothing otherwise", [end], (end) => {
    const { charge, state, response } = outcomeOf(end, true)
    if (state !== "settled") return charge.charged === nothing.charged && charge.source === "none"
    return (
      end._tag === "Completed" &&
      response._tag === "Image" &&
      JSON.stringify(Object.values(charge.charged).map(String)) ===
        JSON.stringify(Object.values(asUsage(end.usage)).map(String))
    )
  })

  property("never charges more than the reported usage", [end, FastCheck.boolean()], (end, dispatched) => {
    const { charged, consumed } = outcomeOf(end, dispatched).charge
    return TokenUsage.total(charged) <= TokenUsage.total(consumed)
  })

  property("has the state that the billing header of a delivered image shows", [end], (end) => {
    const { state, response } = outcomeOf(end, true)
    return response._tag === "Image" ? response.billing === state : state !== "settled" && state !== "unmetered"
  })

  property("is a failure without charge if nothing was sent to a provider", [end], (end) => {
    const { charge, dispatched, ending, state } = outcomeOf(end, false)
    return (
      !dispatched && state === "failed" && ending === "failed" && charge === nothing && reviewOf(state) === undefined
    )
  })

  const prompt = { ...TokenUsage.none, input: zero }

  it("is settled for a reported usage of zero", () => {
    expect(outcomeOf({ _tag: "Completed", usage: { prompt, output: zero } }, true)).toMatchObject({
      state: "settled",
      response: { billing: "settled" }
    })
  })

  it("is unmetered if the output tokens are not reported", () => {
    expect(outcomeOf({ _tag: "Completed", usage: { prompt, output: undefined } }, true)).toMatchObject({
      state: "unmetered",
      response: { billing: "unmetered" },
      charge: { source: "none" }
    })
  })

  it("is reviewed if an uncharged image may have been generated", () => {
    const states = ["settled", "unmetered", "declined", "timeout", "withheld", "failed", "abandoned"] as const
    expect(states.map(reviewOf)).toEqual([
      undefined,
      "unmetered",
      undefined,
      "timeout",
      "withheld",
      undefined,
      "abandoned"
    ])
  })
})
