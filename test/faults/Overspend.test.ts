/**
 * Tests many parallel requests of one customer with a small balance, over two nodes: streams in each streaming
 * protocol, and whole responses.
 */
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { recordFigures } from "../support/Figures.ts"
import { type Customer, type SettlementRow, TestGateway, until } from "../support/TestGateway.ts"
import { chunk, completion, usage } from "../support/upstream/ChatWire.ts"
import * as Messages from "../support/upstream/MessagesWire.ts"
import * as Responses from "../support/upstream/ResponsesWire.ts"
import { event, json, type Step, script, type Wire } from "../support/upstream/Script.ts"

const STREAMS = 25
/** The number of tokens that each stream would have. The balance covers an eighth of one such stream. */
const TOKENS = 100_000
const CREDIT_USD_MICRO = 50_000n
const PRICES = { input: 1_000_000, cache_read: 1_000_000, cache_write: 1_000_000, output: 4_000_000 }
/** One token. */
const WORD = " hello"
const PROMPT = "Say hello."

let a: TestGateway
let b: TestGateway

beforeAll(async () => {
  a = await TestGateway.start({
    provider: { protocols: ["chat", "messages", "responses"] },
    model: { price_usd_micro_per_million_tokens: PRICES }
  })
  b = await TestGateway.start({ beside: a })
})
afterAll(async () => {
  await b.stop()
  await a.close()
})

/** Sends the opening frames and then up to TOKENS frames of one token, until the gateway disconnects. */
const endless =
  (opening: ReadonlyArray<Step>, token: Step): Step =>
  async (wire: Wire) => {
    let isOpen = true
    void wire.gone.then(() => {
      isOpen = false
    })
    for (const step of opening) await step(wire)
    for (let sent = 0; sent < TOKENS && isOpen; sent++) await token(wire)
  }

interface Received {
  readonly requestId: string
  readonly tokens: number
  readonly error: unknown
}

interface Protocol {
  readonly name: string
  readonly upstream: Step
  /** Requests one stream with the official SDK and reads it until its end. */
  readonly read: (url: string, key: string, onRequestId: (id: string) => void) => AsyncIterable<string>
}

// On a slow machine, the ledger can refuse one of 25 concurrent admissions with 503. The client then sends the request
// again. It does not repeat a request that was refused with 402.
const maxRetries = 5
const openai = (url: string, apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries })
const anthropic = (baseURL: string, apiKey: string) => new Anthropic({ baseURL, apiKey, maxRetries })
const messages = [{ role: "user" as const, content: PROMPT }]

const protocols: ReadonlyArray<Protocol> = [
  {
    name: "chat",
    upstream: endless([event(chunk({ role: "assistant", content: "" }))], event(chunk({ content: WORD }))),
    async *read(url, key, onRequestId) {
      const { data, response } = await openai(url, key)
        .chat.completions.create({ model: "m", stream: true, messages })
        .withResponse()
      onRequestId(response.headers.get("x-request-id") ?? "")
      for await (const { choices } of data) yield choices[0]?.delta.content ?? ""
    }
  },
  {
    name: "messages",
    upstream: endless(
      [Messages.messageStart(), Messages.textStart].map(Messages.sent),
      Messages.sent(Messages.textDelta(WORD))
    ),
    async *read(url, key, onRequestId) {
      const { data, response } = await anthropic(url, key)
        .messages.create({ model: "m", stream: true, max_tokens: TOKENS, messages })
        .withResponse()
      onRequestId(response.headers.get("x-request-id") ?? "")
      for await (const each of data) {
        if (each.type === "content_block_delta" && each.delta.type === "text_delta") yield each.delta.text
      }
    }
  },
  {
    name: "responses",
    upstream: endless(Responses.opening().map(Responses.wireStep), Responses.wireStep(Responses.textDelta(WORD))),
    async *read(url, key, onRequestId) {
      const { data, response } = await openai(url, key)
        .responses.create({ model: "m", stream: true, input: PROMPT })
        .withResponse()
      onRequestId(response.headers.get("x-request-id") ?? "")
      for await (const each of data) {
        if (each.type === "response.output_text.delta") yield each.delta
        if (each.type === "response.failed") throw new Error(each.response.error?.code)
        if (each.type === "error") throw new Error(each.code ?? "")
      }
    }
  }
]

const receive = async ({ read }: Protocol, url: string, { key }: Customer): Promise<Received> => {
  let requestId = ""
  let tokens = 0
  try {
    const words = read(url, key, (id) => {
      requestId = id
    })
    for await (const word of words) tokens += word === WORD ? 1 : 0
    return { requestId, tokens, error: undefined }
  } catch (error) {
    return { requestId, tokens, error }
  }
}

describe.each(protocols.map((protocol) => [protocol.name, protocol] as const))(
  "25 parallel %s streams with a balance of 0.05 USD",
  (_name, protocol) => {
    it("write nothing off", async () => {
      const customer = await a.newCustomer(CREDIT_USD_MICRO)
      a.upstream.always(script({ steps: [protocol.upstream] }))
      const all = await Promise.all(
        Array.from({ length: STREAMS }, (_, i) => receive(protocol, (i % 2 === 0 ? a : b).url, customer))
      )
      await until(async () => (await a.query("SELECT FROM open_request")).length === 0)
      const rows = await a.query<SettlementRow>("SELECT * FROM settlement WHERE user_id = $1", [customer.userId])
      for (const { error } of all)
        expect(String((error as { code?: unknown }).code ?? error)).toContain("insufficient_balance")
      for (const { requestId, tokens } of all.filter((each) => each.tokens > 0)) {
        expect(rows.find((row) => requestId.includes(row.request_id))).toMatchObject({
          ending: "balance_exhausted",
          charged_output: BigInt(tokens),
          writeoff_pico: 0n
        })
      }
      const delivered = all.reduce((sum, { tokens }) => sum + tokens, 0)
      const charged = rows.reduce((sum, row) => sum + row.charged_output, 0n)
      const paidPico = rows.reduce((sum, row) => sum + row.payg_pico, 0n)
      expect(charged).toBe(BigInt(delivered))
      expect(rows.reduce((sum, row) => sum + row.writeoff_pico, 0n)).toBe(0n)
      expect(paidPico).toBeLessThanOrEqual(CREDIT_USD_MICRO * 1_000_000n)
      // The balance is used up: every stream was cut, and less than a tenth of the balance remains.
      expect(paidPico).toBeGreaterThan(((CREDIT_USD_MICRO * 9n) / 10n) * 1_000_000n)
      recordFigures({
        [`${protocol.name}: output tokens delivered, and charged`]: `${delivered}, ${charged}`,
        [`${protocol.name}: pico-USD paid, of a balance of`]: `${paidPico}, ${CREDIT_USD_MICRO * 1_000_000n}`
      })
    })
  }
)

describe("25 parallel whole responses with a balance of 0.025 USD", () => {
  /** Cuneiform: each character has four bytes, and each byte is a token. */
  const prompt = "\u{12000}".repeat(750)
  const promptTokens = 4 * 750

  it("write nothing off, although each byte of their prompts is a token", async () => {
    const credit = 25_000n
    const customer = await a.newCustomer(credit)
    a.upstream.always(json(completion({ content: [WORD], usage: usage(promptTokens, 1) })))
    const ask = (gateway: TestGateway) =>
      openai(gateway.url, customer.key).chat.completions.create({
        model: "m",
        max_tokens: 1,
        messages: [{ role: "user", content: prompt }]
      })
    const all = await Promise.allSettled(Array.from({ length: STREAMS }, (_, i) => ask(i % 2 === 0 ? a : b)))
    const refusals = all.filter((each) => each.status === "rejected").map(({ reason }) => reason.code)
    expect(new Set(refusals)).toEqual(new Set(["insufficient_balance"]))
    // Requests at the same time can refuse each other. Afterwards, the rest of the balance can be used.
    let served = all
    while (served.some(({ status }) => status === "fulfilled")) served = await Promise.allSettled([ask(a)])
    const rows = await a.query<SettlementRow>("SELECT * FROM settlement WHERE user_id = $1", [customer.userId])
    expect(rows.reduce((sum, row) => sum + row.writeoff_pico, 0n)).toBe(0n)
    const paidPico = rows.reduce((sum, row) => sum + row.payg_pico, 0n)
    expect(paidPico).toBeGreaterThan(((credit * 8n) / 10n) * 1_000_000n)
    recordFigures({
      "whole responses: answered, of 25 requests": `${all.length - refusals.length}`,
      "whole responses: pico-USD paid, of a balance of": `${paidPico}, ${credit * 1_000_000n}`
    })
  })
})
