/** Tests the comparison of charges of `npm run failover`. */
import { describe, expect, it } from "vitest"
import { PROMPT_TOKENS } from "../support/upstream/Play.ts"
import { compareCharges, type Settlement } from "./Charges.ts"
import type { Received } from "./RequestLoad.ts"

const OVERLOADED = '{"error":{"code":"overloaded"}}'

const aResponse = (members: Partial<Received> = {}): Received => ({
  requestId: "request",
  streamed: true,
  status: 200,
  isComplete: true,
  tokens: 40,
  body: "",
  beganAtMillis: 0,
  endedAtMillis: 1,
  ...members
})

const aSettlement = (output: number, input = PROMPT_TOKENS, requestId = "request"): Settlement => ({
  request_id: requestId,
  charged_input: String(input),
  charged_output: String(output),
  cost_pico: String((input + 2 * output) * 1_000_000)
})

const interrupted = aResponse({ isComplete: false, body: OVERLOADED })
const refused = aResponse({ isComplete: false, status: 503, tokens: 0, body: OVERLOADED })

describe("the comparison of charges", () => {
  it.each<readonly [string, Received, ReadonlyArray<Settlement>]>([
    ["a complete response that is charged exactly", aResponse(), [aSettlement(40)]],
    ["an interrupted stream that is charged in part", interrupted, [aSettlement(12)]],
    ["a refused request that is not charged", refused, []]
  ])("accepts %s", (_, received, settlements) => {
    expect(compareCharges([received], settlements).faults).toEqual([])
  })

  it.each<readonly [string, Received, ReadonlyArray<Settlement>, string]>([
    ["a charge for more output than was received", aResponse(), [aSettlement(41)], "charged more than received"],
    [
      "a charge for more input than the prompt",
      aResponse(),
      [aSettlement(40, PROMPT_TOKENS + 1)],
      "charged more than received"
    ],
    ["a charge for less than a complete response", aResponse(), [aSettlement(39)], "charged less than received"],
    ["a complete response without a settlement", aResponse(), [], "charged less than received"],
    [
      "a charge with an unknown request id",
      aResponse(),
      [aSettlement(40), aSettlement(40, PROMPT_TOKENS, "other")],
      "charged without a client"
    ],
    [
      "a cost that is not the price of the tokens",
      aResponse(),
      [{ ...aSettlement(40), cost_pico: "1" }],
      "the cost is not the price of the tokens"
    ],
    [
      "a charge for more than an interrupted stream can deliver",
      interrupted,
      [aSettlement(41)],
      "charged more than received"
    ],
    [
      "a charge for an interrupted stream without output",
      { ...interrupted, tokens: 0 },
      [aSettlement(0)],
      "charged although nothing"
    ],
    ["a stream that breaks without an error", { ...interrupted, body: "" }, [aSettlement(40)], "interrupted without"],
    ["a charge of a refused request", refused, [aSettlement(1)], "refused and charged"],
    ["a refusal with 500", { ...refused, status: 500 }, [], "refused with an error other"],
    ["a refusal for another reason", { ...refused, body: '{"error":{"code":"x"}}' }, [], "refused with an error other"],
    ["a missing response", { ...refused, status: 0 }, [], "no response"]
  ])("reports %s as a fault", (_, received, settlements, fault) => {
    expect(compareCharges([received], settlements).faults).toEqual([expect.stringContaining(fault)])
  })
})
