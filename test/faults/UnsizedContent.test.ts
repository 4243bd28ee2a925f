/**
 * Tests many parallel requests of one customer over two nodes. The provider loads the response that
 * `previous_response_id` names, so the prompt is far larger than the body.
 */
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { recordFigures } from "../support/Figures.ts"
import { type SettlementRow, TestGateway, until } from "../support/TestGateway.ts"
import { response, responseEvents, responsesUsage, wireStep } from "../support/upstream/ResponsesWire.ts"
import { json, script, signal, type Wire, wait } from "../support/upstream/Script.ts"

const REQUESTS = 25
const PROMPT_TOKENS = 150_000n
const PRICES = { input: 1_000_000, cache_read: 1_000_000, cache_write: 1_000_000, output: 4_000_000 }
const PICO_PER_USD_MICRO = 1_000_000n
/** The provider responds after the expected number of refusals, at the latest after this time. */
const PROVIDER_MILLIS = 5_000

let a: TestGateway
let b: TestGateway

beforeAll(async () => {
  a = await TestGateway.start({
    provider: { protocols: ["responses"] },
    model: { price_usd_micro_per_million_tokens: PRICES }
  })
  b = await TestGateway.start({ beside: a })
})
afterAll(async () => {
  await b.stop()
  await a.close()
})

const statusOf = async (url: string, apiKey: string, streamed: boolean): Promise<number> => {
  const { responses } = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
  const request = { model: "m", input: "Go on.", previous_response_id: "resp_1" }
  try {
    if (!streamed) await responses.create(request)
    else for await (const { type } of await responses.create({ ...request, stream: true })) if (type === "error") break
    return 200
  } catch (error) {
    return (error as { status?: number }).status ?? 0
  }
}

const usage = responsesUsage(Number(PROMPT_TOKENS), 2)
const upstreams = {
  streams: script({ steps: responseEvents({ usage }).map(wireStep) }),
  "whole responses": json(response({ usage }))
}

describe.each(["streams", "whole responses"] as const)("25 parallel %s with previous_response_id", (kind) => {
  const run = async (creditUsdMicro: bigint, covered: number) => {
    const customer = await a.newCustomer(creditUsdMicro)
    const mayRespond = signal()
    const begin = (wire: Wire) => Promise.race([mayRespond.fired, wait(PROVIDER_MILLIS)(wire)])
    a.upstream.always({ ...upstreams[kind], steps: [begin, ...upstreams[kind].steps] })
    let refused = 0
    const statuses = await Promise.all(
      Array.from({ length: REQUESTS }, async (_, i) => {
        const status = await statusOf((i % 2 === 0 ? a : b).url, customer.key, kind === "streams")
        if (status === 402 && ++refused === REQUESTS - covered) mayRespond.fire()
        return status
      })
    )
    await until(async () => (await a.query("SELECT FROM open_request")).length === 0)
    const rows = await a.query<SettlementRow>("SELECT * FROM settlement WHERE user_id = $1", [customer.userId])
    const charged = rows.reduce((sum, row) => sum + row.payg_pico, 0n)
    const writtenOff = rows.reduce((sum, row) => sum + row.writeoff_pico, 0n)
    expect(statuses.filter((status) => status !== 200 && status !== 402)).toEqual([])
    recordFigures({
      [`${kind} with ${creditUsdMicro} micro-USD: served, refused`]: `${REQUESTS - refused}, ${refused}`,
      [`${kind} with ${creditUsdMicro} micro-USD: pico-USD charged, written off`]: `${charged}, ${writtenOff}`
    })
    return { rows, charged, writtenOff, refused }
  }
  const costPico = PROMPT_TOKENS * 1_000_000n + 8_000_000n

  it("are refused except one if the balance is 0.05 USD", async () => {
    const { rows, charged, writtenOff, refused } = await run(50_000n, 1)
    expect([rows.length, refused]).toEqual([1, REQUESTS - 1])
    expect(charged).toBe(50_000n * PICO_PER_USD_MICRO)
    expect(writtenOff).toBe(costPico - charged)
  })

  it("are served as far as a balance of 0.6 USD covers their holds", async () => {
    const { rows, charged, writtenOff, refused } = await run(600_000n, 2)
    expect([rows.length, refused]).toEqual([2, REQUESTS - 2])
    expect([charged, writtenOff]).toEqual([2n * costPico, 0n])
  })
})
