/**
 * Tests the charge and the release of the hold when a client disconnects.
 */
import { setTimeout as sleep } from "node:timers/promises"
import OpenAI from "openai"
import * as Pg from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { promptTokens } from "../support/LocalCount.ts"
import { RawClient } from "../support/RawClient.ts"
import type { ReceivedRequest } from "../support/ScriptedUpstream.ts"
import { type Customer, TestGateway, until } from "../support/TestGateway.ts"
import { chunk, completion, usage, usageChunk } from "../support/upstream/ChatWire.ts"
import {
  again,
  done,
  event,
  json,
  type Step,
  script,
  signal,
  silence,
  stall,
  until as when
} from "../support/upstream/Script.ts"

const QUESTION = "Say hello."
const messages = [{ role: "user" as const, content: QUESTION }]
const PROMPT = promptTokens(QUESTION)
/** Each content delta is one token. */
const CONTENT = [" hello", " hello", " hello", " hello"]
const ALL = BigInt(CONTENT.length)

let gateway: TestGateway

beforeAll(async () => {
  gateway = await TestGateway.start()
})
afterAll(() => gateway.close())

const ask = (body: object = {}, customer: Customer = gateway.customer): Promise<RawClient> =>
  RawClient.post(gateway.url, "/v1/chat/completions", {
    key: customer.key,
    body: { model: "m", messages, stream: true, stream_options: { include_usage: true }, ...body }
  })

const contentsIn = (body: string): number => body.split('"content":" hello"').length - 1

/** Checks that the gateway aborts the request. Otherwise the upstream would continue to generate and to bill. */
const expectAborted = async (request: ReceivedRequest): Promise<void> => {
  const inTime = await Promise.race([request.left.then(() => true), sleep(1_000, false)])
  expect(inTime, "the upstream request was aborted within a second").toBe(true)
}

const expectNothingLeft = async (): Promise<void> => {
  const { counters } = gateway
  await until(() => counters.openRequests + counters.openStreams + counters.openExchanges + counters.bodyBytes === 0)
  await gateway.settled()
  expect(await gateway.query("SELECT id FROM account WHERE debits_pending <> 0")).toEqual([])
}

const disconnects: ReadonlyArray<readonly [how: string, leave: (client: RawClient) => void]> = [
  ["a FIN", (client) => client.leave()],
  ["an RST", (client) => client.reset()]
]

interface Moment {
  readonly when: string
  /** The steps of the upstream before it stops sending. */
  readonly said: ReadonlyArray<Step>
  /** Returns whether the client has received the last event that the gateway relays. */
  readonly isNow: (body: string) => boolean
  /** The tokens that must be charged. */
  readonly due: readonly [input: bigint, output: bigint]
}

const role = event(chunk({ role: "assistant", content: "" }))
const contents = CONTENT.map((content) => event(chunk({ content })))
const finish = event(chunk({}, "stop"))
/** The upstream sends the usage before the finish chunk, so the gateway has it when the client has the finish chunk. */
const usageEvent = event(usageChunk(usage(70, CONTENT.length)))

const moments: ReadonlyArray<Moment> = [
  { when: "after the role", said: [role], isNow: (body) => body.includes('"role"'), due: [0n, 0n] },
  ...contents.map((_, i): Moment => {
    const k = i + 1
    return {
      when: `after ${k} of ${CONTENT.length} content chunks`,
      said: [role, ...contents.slice(0, k)],
      isNow: (body) => contentsIn(body) === k,
      due: [PROMPT, BigInt(k)]
    }
  }),
  {
    when: "after the finish chunk, without reported usage",
    said: [role, ...contents, finish],
    isNow: (body) => body.includes('"stop"'),
    due: [PROMPT, ALL]
  },
  {
    when: "after the finish chunk, with reported usage",
    said: [role, ...contents, usageEvent, finish],
    isNow: (body) => body.includes('"stop"'),
    due: [70n, ALL]
  },
  {
    when: "after 2 delivered tokens, with 9 in the reported usage",
    said: [event({ ...chunk({ content: " hello hello" }), usage: usage(70, 9) })],
    isNow: (body) => body.includes(" hello hello"),
    due: [70n, 2n]
  }
]

describe.each(disconnects)("a stream whose client disconnects with %s", (_, leave) => {
  it("before the first byte costs nothing", async () => {
    gateway.upstream.next(silence)
    const client = await ask()
    const request = await gateway.upstream.received()
    leave(client)
    await expectAborted(request)
    await expectNothingLeft()
    const settlement = await gateway.lastSettlement()
    expect(settlement).toMatchObject({ ending: "client_gone", charged_input: 0n, charged_output: 0n, cost_pico: 0n })
  })

  it.each(
    moments.map(
      (moment) =>
        [moment.when, moment.due[0] === 0n ? "nothing" : "the prompt and the delivered output", moment] as const
    )
  )("%s costs %s", async (_when, _what, { said, isNow, due: [input, output] }) => {
    const before = await gateway.balanceUsdMicro()
    gateway.upstream.next(script({ steps: [...said, stall] }))
    const client = await ask()
    const request = await gateway.upstream.received()
    const { headers } = await client.until(({ body }) => isNow(body))
    leave(client)
    await expectAborted(request)
    await expectNothingLeft()
    const settlement = await gateway.settlementOf(headers["x-request-id"] ?? "")
    expect(settlement).toMatchObject({ ending: "client_gone", charged_input: input, charged_output: output })
    expect(before - (await gateway.balanceUsdMicro())).toBe(input + 2n * output)
  })

  it.each([
    ["reported", [usageEvent], 70n],
    ["not reported", [], PROMPT]
  ])("is settled as complete after [DONE], with usage %s", async (_, reported, input) => {
    gateway.upstream.next(script({ steps: [role, ...contents, ...reported, finish, done] }))
    const client = await ask()
    await gateway.upstream.received()
    const { headers } = await client.until(({ body }) => body.includes("[DONE]"))
    leave(client)
    await expectNothingLeft()
    const settlement = await gateway.settlementOf(headers["x-request-id"] ?? "")
    expect(settlement).toMatchObject({ ending: "complete", charged_input: input, charged_output: ALL })
  })
})

it("a stream that the official client aborts costs its prompt and the delivered output", async () => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 })
  gateway.upstream.next(script({ steps: [role, ...contents.slice(0, 2), stall] }))
  const stream = await client.chat.completions.create({ model: "m", messages, stream: true })
  const request = await gateway.upstream.received()
  let received = 0
  for await (const { choices } of stream) {
    if (choices[0]?.delta.content === " hello") received += 1
    if (received === 2) stream.controller.abort()
  }
  await expectAborted(request)
  await expectNothingLeft()
  expect(await gateway.lastSettlement()).toMatchObject({
    ending: "client_gone",
    charged_input: PROMPT,
    charged_output: 2n
  })
})

it("a client that disconnects while the upstream continues pays for what was written to it", async () => {
  gateway.upstream.next(script({ steps: [again(event(chunk({ content: " hello" })))] }))
  const writtenBefore = gateway.counters.responseBytes
  const client = await ask()
  const request = await gateway.upstream.received()
  const { headers, body } = await client.until(({ body }) => contentsIn(body) > 2)
  client.reset()
  await expectAborted(request)
  await expectNothingLeft()
  const [, frame = ""] = body.split("\n\n")
  const written = (gateway.counters.responseBytes - writtenBefore) / Buffer.byteLength(`${frame}\n\n`)
  const { charged_output, ...settlement } = await gateway.settlementOf(headers["x-request-id"] ?? "")
  expect(settlement).toMatchObject({ ending: "client_gone", charged_input: PROMPT })
  expect(Number(charged_output)).toBeGreaterThanOrEqual(contentsIn(body))
  expect(Number(charged_output)).toBeLessThanOrEqual(written)
})

it("a client that stops reading pays for what its socket accepted", async () => {
  // Each frame has 16 KiB but only one token of content, so that the socket fills up at a small charge.
  const padding = { content: [{ token: "x".repeat(16_384), logprob: 0, top_logprobs: [] }] }
  const frame = { ...chunk({}), choices: [{ index: 0, delta: { content: " hello" }, logprobs: padding }] }
  gateway.upstream.next(script({ steps: [event(frame), again(event(frame))] }))
  const writtenBefore = gateway.counters.responseBytes
  const client = await ask()
  const request = await gateway.upstream.received()
  const { headers, body } = await client.until(({ body }) => contentsIn(body) > 1)
  client.pause()
  await blocked(request)
  const [, frameBytes = 0] = body.split("\n\n").map((each) => Buffer.byteLength(`${each}\n\n`))
  const written = Math.floor((gateway.counters.responseBytes - writtenBefore) / frameBytes)
  client.reset()
  await expectAborted(request)
  await expectNothingLeft()

  const { charged_input, charged_output } = await gateway.settlementOf(headers["x-request-id"] ?? "")
  expect(charged_input).toBe(PROMPT)
  // The gateway has written at most 31 frames that the socket has not accepted.
  expect(Number(charged_output)).toBeLessThan(written)
  expect(Number(charged_output)).toBeGreaterThan(written - 32)
})

/** Waits until the socket of the upstream accepts no more bytes. */
const blocked = async (request: ReceivedRequest): Promise<void> => {
  for (let sent = -1; sent !== request.sentBytes(); await sleep(200)) sent = request.sentBytes()
}

describe("a whole response whose client disconnects", () => {
  it.each(disconnects)("with %s before the upstream responds costs nothing", async (_, leave) => {
    const before = await gateway.balanceUsdMicro()
    gateway.upstream.next(silence)
    const client = await ask({ stream: false })
    const request = await gateway.upstream.received()
    leave(client)
    await expectAborted(request)
    await expectNothingLeft()
    expect(await gateway.lastSettlement()).toMatchObject({
      ending: "client_gone",
      usage_source: "none",
      cost_pico: 0n
    })
    expect(await gateway.balanceUsdMicro()).toBe(before)
  })

  it("while the upstream sends the body costs nothing", async () => {
    const body = JSON.stringify(completion({ usage: usage(7, 3) }))
    gateway.upstream.next({ ...json({}), length: body.length, steps: [(wire) => wire.send(body.slice(0, 40)), stall] })
    const client = await ask({ stream: false })
    const request = await gateway.upstream.received()
    await until(() => request.sentBytes() > 0)
    client.reset()
    await expectAborted(request)
    await expectNothingLeft()
    expect(await gateway.lastSettlement()).toMatchObject({ ending: "client_gone", cost_pico: 0n })
  })

  it("while the response waits for its settlement costs nothing", async () => {
    const customer = await gateway.newCustomer(1_000n)
    const mayRespond = signal()
    const response = json(completion({ usage: usage(7, 3) }))
    gateway.upstream.next({ ...response, steps: [when(mayRespond), ...response.steps] })
    const client = await ask({ stream: false }, customer)
    const request = await gateway.upstream.received()
    await withLockedAccount(customer, async () => {
      mayRespond.fire()
      await request.over
      await waitingForLocks(1)
      client.reset()
      await isNoticed(client)
    })
    await expectNothingLeft()
    expect(await gateway.balanceUsdMicro(customer)).toBe(1_000n)
  })
})

it("a request whose client disconnects during admission is not sent to an upstream", async () => {
  const customer = await gateway.newCustomer(1_000n)
  const asked = gateway.upstream.requests.length
  await withLockedAccount(customer, async () => {
    const client = await ask({}, customer)
    await waitingForLocks(1)
    client.reset()
    await isNoticed(client)
  })
  await expectNothingLeft()
  expect(gateway.upstream.requests.length).toBe(asked)
  expect(await gateway.balanceUsdMicro(customer)).toBe(1_000n)
})

it("a request whose client disconnects during the upload releases its memory reservation", async () => {
  const settled = await gateway.query("SELECT 1 FROM settlement")
  const client = await RawClient.connect(gateway.url)
  client.head("POST", "/v1/chat/completions", [
    ["authorization", `Bearer ${gateway.key}`],
    ["content-length", "1000"]
  ])
  client.say('{"model":')
  await until(() => gateway.counters.bodyBytes > 0)
  client.reset()
  await expectNothingLeft()
  expect(await gateway.query("SELECT 1 FROM settlement")).toHaveLength(settled.length)
})

/** Waits until the gateway has processed the disconnect: the connection is closed, and a later request is complete. */
const isNoticed = async (client: RawClient): Promise<void> => {
  await until(() => client.ended)
  await (await fetch(`${gateway.url}/healthz`)).text()
}

const withLockedAccount = async (customer: Customer, work: () => Promise<void>): Promise<void> => {
  const other = new Pg.Client(gateway.database.settings)
  await other.connect()
  try {
    await other.query("BEGIN")
    await other.query("SELECT 1 FROM account WHERE user_id = $1 FOR UPDATE", [customer.userId])
    await work()
  } finally {
    await other.end()
  }
}

/**
 * Waits until this many database sessions wait for a lock, but at most a second. The ledger waits for a lock only
 * briefly and then retries, so the test can miss that moment.
 */
const waitingForLocks = (sessions: number): Promise<void> => {
  const givesUpAt = performance.now() + 1_000
  return until(async () => {
    const waiting = await gateway.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return waiting.length >= sessions || performance.now() > givesUpAt
  })
}
