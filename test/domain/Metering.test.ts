import * as Metering from "@tollgate/domain/metering"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../support/property.ts"

const requestBody = { model: "m", messages: [{ role: "user", content: "count these words" }] }
/** The prompt tokens: three of text, three per message and three before the output. */
const PROMPT_TOKENS = 9n

/** Counts words instead of tokens. The role is joined to the content, so it adds no word. */
const countTokens = (text: string) => text.split(" ").filter((word) => word !== "").length
const local = { requestBody, countTokens }

const delta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] })
const usage = (prompt_tokens: number, completion_tokens: number) => ({
  choices: [],
  usage: { prompt_tokens, completion_tokens }
})

const metered = (protocol: Metering.MeteredProtocol, events: ReadonlyArray<unknown>) =>
  events.reduce<Metering.Meter>(Metering.meterEvent, Metering.startMeter(protocol))

const price: Metering.Price = {
  input: Metering.PicoPerToken(250_000n),
  cacheWrite: Metering.PicoPerToken(250_000n),
  cacheRead: Metering.PicoPerToken(25_000n),
  output: Metering.PicoPerToken(2_000_000n)
}

describe("a metered stream", () => {
  it("is charged the reported usage if it is complete", () => {
    const meter = metered("chat", [delta("one "), delta("two"), usage(20, 30), "[DONE]"])
    const charge = Metering.chargeOf(meter, "complete", local)
    expect(charge).toMatchObject({ charged: { input: 20n, output: 30n }, source: "upstream" })
    expect(Metering.costOf(charge, price)).toBe(20n * 250_000n + 30n * 2_000_000n)
  })

  it("is charged a local count if no usage was reported", () => {
    const charge = Metering.chargeOf(metered("chat", [delta("one "), delta("two")]), "complete", local)
    expect(charge).toMatchObject({ charged: { input: PROMPT_TOKENS, output: 2n }, source: "local" })
  })

  property(
    "is charged the prompt and k deltas if it is cut after k deltas",
    [
      FastCheck.integer({ min: 1, max: 50 }),
      FastCheck.constantFrom("client_gone" as const, "upstream_cut" as const, "balance_exhausted" as const)
    ],
    (k, ending) => {
      const meter = metered(
        "chat",
        Array.from({ length: k }, () => delta("word "))
      )
      const { charged } = Metering.chargeOf(meter, ending, local)
      return charged.input === PROMPT_TOKENS && charged.output === BigInt(k)
    }
  )

  it("is charged nothing if nothing was delivered to the client", () => {
    const meter = Metering.meterUndelivered(Metering.startMeter("chat"), usage(20, 5))
    const { charged, consumed, source } = Metering.chargeOf(meter, "client_gone", local)
    expect({ charged: Object.values(charged), source }).toEqual({ charged: [0n, 0n, 0n, 0n], source: "none" })
    expect(consumed).toMatchObject({ input: 20n, output: 5n })
  })

  it("is charged zero if it is complete and a usage of zero is reported", () => {
    const charge = Metering.chargeOf(metered("chat", [delta("one"), usage(0, 0)]), "complete", local)
    expect(charge.source).toBe("upstream")
    expect(Metering.costOf(charge, price)).toBe(0n)
  })

  it("keeps the text of each chat choice separate", () => {
    const both = { choices: [delta("one ").choices[0], { index: 1, delta: { content: "uno " } }] }
    const meter = metered("chat", [both, both])
    expect(meter.deltas).toBe(2)
    expect([...meter.contents]).toEqual([
      [0, "one one "],
      [1, "uno uno "]
    ])
  })

  it("merges the usage of several events of a messages stream", () => {
    const meter = metered("messages", [
      { type: "message_start", message: { usage: { input_tokens: 7, output_tokens: 1 } } },
      { type: "content_block_delta", delta: { type: "text_delta", text: "one" } },
      { type: "message_delta", usage: { output_tokens: 4 } }
    ])
    expect(Metering.chargeOf(meter, "complete", local).charged).toMatchObject({ input: 7n, output: 4n })
  })

  it("counts the content of a responses stream once", () => {
    const response = { output: [{ content: [{ text: "one two" }] }], usage: { input_tokens: 7, output_tokens: 2 } }
    const done = { type: "response.completed", response }
    const streamed = metered("responses", [{ type: "response.output_text.delta", delta: "one two" }, done])
    const withoutDeltas = metered("responses", [done])
    for (const meter of [streamed, withoutDeltas]) {
      expect(meter.contents.get(0)).toBe("one two")
      expect(Metering.chargeOf(meter, "complete", local).charged).toMatchObject({ input: 7n, output: 2n })
    }
  })

  it.each([
    [
      "chat",
      { choices: [{ index: 0, message: { content: "one" } }], usage: { prompt_tokens: 7, completion_tokens: 1 } }
    ],
    [
      "messages",
      { type: "message", content: [{ type: "text", text: "one" }], usage: { input_tokens: 7, output_tokens: 1 } }
    ],
    [
      "responses",
      { object: "response", output: [{ content: [{ text: "one" }] }], usage: { input_tokens: 7, output_tokens: 1 } }
    ]
  ] as const)("can be replaced by one whole %s response", (protocol, body) => {
    const meter = metered(protocol, [body])
    expect(meter.contents.get(0)).toBe("one")
    expect(Metering.chargeOf(meter, "complete", local).charged).toMatchObject({ input: 7n, output: 1n })
  })
})

describe("a metered request", () => {
  it("is settled with its charge", () => {
    const plan: Metering.PlanAccount = {
      id: Metering.AccountId("plan"),
      creditsPosted: Tokens(100n),
      debitsPosted: Tokens(0n),
      debitsPending: Tokens(0n)
    }
    const size = { textBytes: 60, attachments: 0, maxOutputTokens: 50, choices: 1 }
    const held = Either.getOrThrow(Metering.decideHold(Metering.estimate(size), price, { plan, payg: undefined }))
    expect(held.hold.planTokens).toBe(70n)

    const charge = Metering.chargeOf(metered("chat", [delta("one "), delta("two ")]), "client_gone", local)
    const settled = Metering.decideSettlement(held.hold, charge, price, { plan: held.plan, payg: held.payg })
    expect(settled.settlement).toMatchObject({ planTokens: PROMPT_TOKENS + 2n, writeoffPico: 0n })
    expect(settled.plan).toMatchObject({ debitsPosted: PROMPT_TOKENS + 2n, debitsPending: 0n })
  })
})
