/** Tests image requests of one customer on two servers. One server is killed during an image request. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ServerProcess } from "../support/ServerProcess.ts"
import { type Customer, TestGateway, until } from "../support/TestGateway.ts"
import { json, script, signal, silence, until as untilFired } from "../support/upstream/Script.ts"

/** The first bytes of a PNG file. These tests do not check the content of images. */
const PICTURE = Buffer.from("89504e470d0a1a0a", "hex").toString("base64")
const RESPONSE = { data: [{ b64_json: PICTURE }], usage: { input_tokens: 10, output_tokens: 45, total_tokens: 55 } }
const COST_USD_MICRO = 10n + 2n * 45n
const CREDIT_USD_MICRO = 1_000n

let observer: TestGateway
let servers: ReadonlyArray<ServerProcess>

beforeAll(async () => {
  observer = await TestGateway.start({
    provider: { protocols: ["images"] },
    model: { kind: "image", capabilities: ["generate"] },
    settings: { NODE_DEAD_AFTER_SECONDS: "3600" }
  })
  servers = await Promise.all([1, 2].map(() => ServerProcess.beside(observer, { NODE_DEAD_AFTER_SECONDS: "2" })))
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.kill()))
  await observer.close()
})

const server = (nth: number): ServerProcess => servers[nth % servers.length] as ServerProcess

interface ReceivedResult {
  readonly status: number
  readonly code: string | undefined
}

const generate = async (
  nth: number,
  { key }: Customer,
  headers: Record<string, string> = {}
): Promise<ReceivedResult> => {
  const response = await fetch(`${server(nth).url}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "m", prompt: "a toll gate at night" })
  })
  const body = (await response.json()) as { readonly error?: { readonly code: string } }
  return { status: response.status, code: body.error?.code }
}

const tally = (all: ReadonlyArray<ReceivedResult>) => {
  const counts: Record<string, number> = {}
  for (const { code, status } of all) {
    const label = code ?? String(status)
    counts[label] = (counts[label] ?? 0) + 1
  }
  return counts
}

const statesOf = ({ userId }: Customer) =>
  observer.query<{ readonly state: string; readonly reason: string | null }>(
    "SELECT state, reason FROM image_request LEFT JOIN image_review USING (request_id) WHERE user_id = $1 ORDER BY started_at",
    [userId]
  )

describe("image requests of one customer on two servers", () => {
  it("run one at a time", async () => {
    const customer = await observer.newCustomer(CREDIT_USD_MICRO)
    const mayRespond = signal()
    const upstreamScript = json(RESPONSE)
    observer.upstream.next(script({ ...upstreamScript, steps: [untilFired(mayRespond), ...upstreamScript.steps] }))
    const received: Array<ReceivedResult> = []
    const calls = Array.from({ length: 100 }, async (_, nth) => {
      const result = await generate(nth, customer)
      received.push(result)
      return result
    })
    await until(() => received.length === 99)
    mayRespond.fire()
    expect(tally(await Promise.all(calls))).toEqual({ 200: 1, image_concurrency_limit: 99 })
    expect(await observer.balanceUsdMicro(customer)).toBe(CREDIT_USD_MICRO - COST_USD_MICRO)
  })

  it("run once per idempotency key", async () => {
    const customer = await observer.newCustomer(CREDIT_USD_MICRO)
    observer.upstream.next(json(RESPONSE))
    const calls = Array.from({ length: 50 }, (_, nth) => generate(nth, customer, { "Idempotency-Key": "order-17" }))
    expect(tally(await Promise.all(calls))).toEqual({ 200: 1, idempotency_key_reused: 49 })
    expect(await observer.balanceUsdMicro(customer)).toBe(CREDIT_USD_MICRO - COST_USD_MICRO)
    expect(await statesOf(customer)).toEqual([{ state: "settled", reason: null }])
  })

  it("cost nothing when their server is killed", async () => {
    const customer = await observer.newCustomer(CREDIT_USD_MICRO)
    const requestsBefore = observer.upstream.requests.length
    observer.upstream.next(silence)
    const cutRequest = generate(0, customer, { "Idempotency-Key": "killed" }).catch(() => "cut")
    await until(() => observer.upstream.requests.length > requestsBefore)
    await server(0).kill()
    expect(await cutRequest).toBe("cut")
    expect(await generate(1, customer)).toEqual({ status: 429, code: "image_concurrency_limit" })

    // The hold is released when the server counts as dead; the lease expires later.
    await until(async () => (await observer.balances(customer)).paygPico === CREDIT_USD_MICRO * 1_000_000n)
    await observer.settled()
    expect(await statesOf(customer)).toEqual([{ state: "running", reason: null }])
    await observer.query(
      "UPDATE image_request SET lease_until = started_at + interval '1 microsecond' WHERE user_id = $1",
      [customer.userId]
    )
    observer.upstream.next(json(RESPONSE))
    expect(await generate(1, customer)).toEqual({ status: 200, code: undefined })
    expect(await statesOf(customer)).toEqual([
      { state: "abandoned", reason: "abandoned" },
      { state: "settled", reason: null }
    ])
    expect(await generate(1, customer, { "Idempotency-Key": "killed" })).toMatchObject({
      code: "idempotency_key_reused"
    })
    expect(await observer.balanceUsdMicro(customer)).toBe(CREDIT_USD_MICRO - COST_USD_MICRO)
    expect(await observer.audit()).toEqual([])
  })
})
