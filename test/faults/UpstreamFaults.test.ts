/**
 * Everything a supplier can do wrong, as the official client sees it and as it is charged: an answer that is none is
 * an error, a stream that breaks raises, and a customer pays for what arrived and nothing else.
 *
 * Each fault has a supplier and a model of its own, so that several can happen at a time. Every byte told to a client
 * is searched for what must not be told, and in the end the balance has lost exactly what the clients received.
 */
import { createServer } from "node:net"
import OpenAI, { APIError } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { promptTokens, tokens } from "../support/LocalCount.ts"
import { nobodyThere, ScriptedUpstream } from "../support/ScriptedUpstream.ts"
import { SUPPLIER_KEY, TestGateway, until } from "../support/TestGateway.ts"
import { selfSigned } from "../support/upstream/SelfSigned.ts"
import { Wiretap } from "../support/Wiretap.ts"
import { answerFaults } from "./upstream/AnswerFaults.ts"
import { Audience, type Due, type Fault, type Whereabouts } from "./upstream/Fault.ts"
import { refusalFaults } from "./upstream/RefusalFaults.ts"
import { streamFaults } from "./upstream/StreamFaults.ts"
import { HIDDEN_MODEL, leaks, SUPPLIER, telltales } from "./upstream/Telltales.ts"

const QUESTION = "Say hello."
const BALANCE = 1_000_000n

interface Case {
  readonly fault: Fault
  readonly model: string
  readonly upstreamModel: string
  readonly audience: Audience
}

const cases: ReadonlyArray<Case> = [...streamFaults, ...answerFaults, ...refusalFaults].map((fault, i) => ({
  fault,
  model: `fault-${i}`,
  upstreamModel: `${HIDDEN_MODEL}-${i}`,
  audience: new Audience()
}))

let gateway: TestGateway
let tls: ScriptedUpstream
const plain = createServer((socket) => socket.resume().end("HTTP/1.1 400 Bad Request\r\n\r\n"))
let tap: Wiretap
let client: OpenAI
/** What the clients received, added up. */
let dueUsdMicro = 0n

beforeAll(async () => {
  gateway = await TestGateway.start()
  tls = await ScriptedUpstream.start({ tls: selfSigned })
  await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve))
  tap = await Wiretap.start(gateway.url)
  client = new OpenAI({ baseURL: `${tap.url}/v1`, apiKey: gateway.key, maxRetries: 0 })

  const scripts = new Map(cases.map(({ upstreamModel, fault, audience }) => [upstreamModel, fault.says(audience)]))
  gateway.upstream.always((request) => {
    const script = scripts.get((request.json() as { readonly model: string }).model)
    if (script === undefined) throw new Error("there is no such model")
    return { ...script, headers: { ...telltales, ...script.headers } }
  })
  await gateway.applyCatalogFile(catalog(await addresses()))
})
afterAll(async () => {
  await tap.close()
  await tls.close()
  await new Promise((resolve) => plain.close(resolve))
  await gateway.close()
})

const addresses = async (): Promise<Readonly<Record<Whereabouts, string>>> => {
  const address = plain.address()
  return {
    "where nobody listens": await nobodyThere(),
    "behind a certificate nobody trusts": tls.baseUrl,
    "where no TLS is spoken": `https://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  }
}

const catalog = (elsewhere: Readonly<Record<Whereabouts, string>>) => ({
  providers: cases.map(({ fault, model }) => ({
    name: `${SUPPLIER} of ${model}`,
    base_url: fault.at === undefined ? gateway.upstream.baseUrl : elsewhere[fault.at],
    api_key_env: "SUPPLIER_KEY",
    protocols: ["chat"],
    timeouts: { first_byte_ms: 10_000, idle_ms: 10_000, total_ms: 15_000, ...fault.timeouts }
  })),
  models: cases.map(({ model, upstreamModel }) => ({
    public_name: model,
    display_name: model,
    author: "Lab",
    price_usd_micro_per_million_tokens: {
      input: 1_000_000,
      cache_read: 1_000_000,
      cache_write: 1_000_000,
      output: 2_000_000
    },
    routes: [{ provider: `${SUPPLIER} of ${model}`, upstream_model: upstreamModel }]
  }))
})

/** What the official client makes of it. */
interface Heard {
  readonly requestId: string
  readonly text: string
  readonly usage: readonly [prompt: number, completion: number] | undefined
  readonly raised: APIError | undefined
}

const listen = async ({ fault, model, audience }: Case): Promise<Heard> => {
  const messages = [{ role: "user" as const, content: QUESTION }]
  let text = ""
  let usage: OpenAI.CompletionUsage | null | undefined
  let requestId: string | null | undefined
  let raised: APIError | undefined
  try {
    if (fault.asked === "answer") {
      const { data, request_id } = await client.chat.completions.create({ model, messages }).withResponse()
      requestId = request_id
      text = data.choices[0]?.message.content ?? ""
      usage = data.usage
    } else {
      const asked = { model, messages, stream: true as const, stream_options: { include_usage: true } }
      const { data, request_id } = await client.chat.completions.create(asked).withResponse()
      requestId = request_id
      for await (const chunk of data) {
        audience.hear()
        text += chunk.choices[0]?.delta.content ?? ""
        usage = chunk.usage
      }
    }
  } catch (error) {
    if (!(error instanceof APIError)) throw error
    raised = error
    requestId ??= error.requestID
  }
  return {
    requestId: requestId ?? "",
    text,
    usage: usage ? [usage.prompt_tokens, usage.completion_tokens] : undefined,
    raised
  }
}

/** Tokens of input and output. */
const dueFor = (due: Due, heard: string): readonly [input: bigint, output: bigint] => {
  if (due === "nothing") return [0n, 0n]
  if (due === "what arrived") return [promptTokens(QUESTION), tokens(heard)]
  return "prompt" in due ? [BigInt(due.prompt), tokens(heard)] : [BigInt(due[0]), BigInt(due[1])]
}

const expectTold = ({ told, due }: Fault, { text, usage, raised }: Heard): void => {
  if (told.as === "answer") {
    expect(raised).toBeUndefined()
    expect({ text, usage }).toEqual({ text: told.text, usage: Array.isArray(due) ? due : undefined })
    return
  }
  expect(raised, "the client raises").toBeDefined()
  expect(raised?.code).toBe(told.code)
  if (told.as === "refusal") {
    expect(text).toBe("")
    expect(raised?.status).toBe(told.status)
    expect(raised?.headers?.get("retry-after") ?? undefined).toBe(told.retryAfter)
  } else {
    expect(raised?.status).toBeUndefined()
    if (told.text === undefined) expect(text).not.toBe("")
    else expect(text).toBe(told.text)
  }
}

const endingOf = ({ told }: Fault, { text }: Heard): string =>
  told.as === "answer" ? "complete" : text === "" ? "failed" : "upstream_cut"

describe.concurrent("a supplier that", () => {
  it.each(
    cases.map(
      (each) =>
        [
          each.fault.supplier,
          `asked for ${each.fault.asked === "answer" ? "a whole answer" : "a stream"}`,
          each
        ] as const
    )
  )("%s (%s)", async (_supplier, _asked, each) => {
    const { fault, upstreamModel } = each
    const heard = await listen(each)
    expectTold(fault, heard)

    const [input, output] = dueFor(fault.due, heard.text)
    const settlement = await gateway.settlementOf(heard.requestId)
    expect({
      ending: settlement.ending,
      input: settlement.charged_input + settlement.charged_cache_read,
      output: settlement.charged_output,
      paid: settlement.payg_pico
    }).toEqual({ ending: endingOf(fault, heard), input, output, paid: (input + 2n * output) * 1_000_000n })
    dueUsdMicro += input + 2n * output

    const asked = gateway.upstream.requests.filter((request) => request.body.includes(`"${upstreamModel}"`))
    expect(asked).toHaveLength(fault.at === undefined ? 1 : 0)
    expect(asked.every(({ path }) => path === "/v1/chat/completions")).toBe(true)
  })
})

describe("after all these faults", () => {
  it("the balance has lost what the clients received", async () => {
    expect(cases.length).toBeGreaterThan(100)
    expect(dueUsdMicro).toBeGreaterThan(0n)
    expect(BALANCE - (await gateway.balanceUsdMicro())).toBe(dueUsdMicro)
    const [{ paid } = { paid: 0 }] = await gateway.query<{ paid: string }>(
      "SELECT sum(payg_pico) AS paid FROM settlement"
    )
    expect(BigInt(paid)).toBe(dueUsdMicro * 1_000_000n)
  })

  it("no client was told who the suppliers are", () => {
    const { host } = new URL(gateway.upstream.baseUrl)
    expect(tap.leaksOf([...leaks, SUPPLIER_KEY, host, new URL(tls.baseUrl).host])).toEqual([])
  })

  it("nothing is left open", async () => {
    const { counters } = gateway
    await until(() => counters.openRequests + counters.openStreams + counters.openExchanges + counters.bodyBytes === 0)
  })
})
