/**
 * Tests upstream faults with the official client of a protocol: the result at the client, and the charge. An invalid response
 * and a broken stream cause an error at the client. The customer pays only for delivered content.
 *
 * Each fault has its own provider and model, so that the faults run in parallel. At the end the suite searches every byte
 * that clients received for secrets, and compares the balance with the sum of the expected charges.
 */
import { createServer } from "node:net"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { promptTokens, tokens } from "../../support/LocalCount.ts"
import { ScriptedUpstream, unusedAddress } from "../../support/ScriptedUpstream.ts"
import { PROVIDER_KEY, TestGateway, until } from "../../support/TestGateway.ts"
import { selfSigned } from "../../support/upstream/SelfSigned.ts"
import { Wiretap } from "../../support/Wiretap.ts"
import { type Caller, type Dialect, type Heard, QUESTION } from "./Dialect.ts"
import { Audience, type Due, type Fault, type Whereabouts } from "./Fault.ts"
import { HIDDEN_MODEL, leaks, PROVIDER, telltales } from "./Telltales.ts"

const BALANCE = 1_000_000n

interface Case {
  readonly fault: Fault
  readonly model: string
  readonly upstreamModel: string
  readonly audience: Audience
}

/**
 * Registers a test for each fault, and tests of the totals. The tests of the totals fail unless there are more than
 * `moreThan` faults.
 */
export const faultSuite = (dialect: Dialect, faults: ReadonlyArray<Fault>, moreThan: number): void => {
  const cases: ReadonlyArray<Case> = faults.map((fault, i) => ({
    fault,
    model: `fault-${i}`,
    upstreamModel: `${HIDDEN_MODEL}-${i}`,
    audience: new Audience()
  }))

  let gateway: TestGateway
  let tls: ScriptedUpstream
  const plain = createServer((socket) => socket.resume().end("HTTP/1.1 400 Bad Request\r\n\r\n"))
  let tap: Wiretap
  let caller: Caller
  /** The sum of the expected charges in micro-USD. */
  let dueUsdMicro = 0n

  beforeAll(async () => {
    gateway = await TestGateway.start()
    tls = await ScriptedUpstream.start({ tls: selfSigned })
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve))
    tap = await Wiretap.start(gateway.url)
    caller = dialect.callerOf(tap.url, gateway.key)

    const scripts = new Map(cases.map(({ upstreamModel, fault, audience }) => [upstreamModel, fault.says(audience)]))
    gateway.upstream.always((request) => {
      const script = scripts.get((request.json() as { readonly model: string }).model)
      if (script === undefined) throw new Error("no fault has this upstream model")
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
      "at a closed port": await unusedAddress(),
      "behind an untrusted certificate": tls.baseUrl,
      "at a port without TLS": `https://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    }
  }

  const catalog = (elsewhere: Readonly<Record<Whereabouts, string>>) => ({
    providers: cases.map(({ fault, model }) => ({
      name: `${PROVIDER} of ${model}`,
      base_url: fault.at === undefined ? gateway.upstream.baseUrl : elsewhere[fault.at],
      api_key_env: "PROVIDER_KEY",
      protocols: ["chat", "messages", "responses"],
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
      routes: [{ provider: `${PROVIDER} of ${model}`, upstream_model: upstreamModel }]
    }))
  })

  const listen = async ({ fault, model, audience }: Case): Promise<Heard> => {
    const heard: Heard = { requestId: "", text: "", usage: undefined, raised: undefined }
    try {
      if (fault.asked === "answer") await caller.answer(model, heard)
      else await caller.stream(model, heard, () => audience.hear())
    } catch (error) {
      heard.raised = caller.raised(error)
      if (heard.raised === undefined) throw error
      heard.requestId ||= heard.raised.requestId ?? ""
    }
    return heard
  }

  describe.concurrent("the client receives the expected result at the expected charge when the upstream", () => {
    it.each(
      cases.map(
        (each) =>
          [
            each.fault.upstream,
            `requested: ${each.fault.asked === "answer" ? "a whole response" : "a stream"}`,
            each
          ] as const
      )
    )("%s (%s)", async (_upstream, _asked, each) => {
      const { fault, upstreamModel } = each
      const heard = await listen(each)
      expectTold(dialect, fault, heard)

      const [input, output] = dueFor(fault.due, heard.text)
      const settlement = await gateway.settlementOf(heard.requestId)
      expect({
        ending: settlement.ending,
        input: settlement.charged_input + settlement.charged_cache_read + settlement.charged_cache_write,
        output: settlement.charged_output,
        paid: settlement.payg_pico
      }).toEqual({ ending: endingOf(fault, heard), input, output, paid: (input + 2n * output) * 1_000_000n })
      dueUsdMicro += input + 2n * output

      // The gateway can disconnect before the upstream has read the request, so this check is repeated until it passes.
      const asked = () =>
        gateway.upstream.requests
          .filter((request) => request.body.includes(`"${upstreamModel}"`))
          .map(({ path }) => path)
      await vi.waitFor(() => expect(asked()).toEqual(fault.at === undefined ? [dialect.path] : []))
    })
  })

  describe("after all faults", () => {
    it("the balance has decreased by exactly the sum of the expected charges", async () => {
      expect(cases.length).toBeGreaterThan(moreThan)
      expect(dueUsdMicro).toBeGreaterThan(0n)
      expect(BALANCE - (await gateway.balanceUsdMicro())).toBe(dueUsdMicro)
      const [{ paid } = { paid: 0 }] = await gateway.query<{ paid: string }>(
        "SELECT sum(payg_pico) AS paid FROM settlement"
      )
      expect(BigInt(paid)).toBe(dueUsdMicro * 1_000_000n)
    })

    it("no client has received the name, host, model or key of a provider", () => {
      const { host } = new URL(gateway.upstream.baseUrl)
      expect(tap.leaksOf([...leaks, PROVIDER_KEY, host, new URL(tls.baseUrl).host])).toEqual([])
    })

    it("no request, stream, exchange or buffered body remains", async () => {
      const { counters } = gateway
      await until(
        () => counters.openRequests + counters.openStreams + counters.openExchanges + counters.bodyBytes === 0
      )
    })
  })
}

/** Returns the input and output tokens to charge. */
const dueFor = (due: Due, heard: string): readonly [input: bigint, output: bigint] => {
  if (due === "nothing") return [0n, 0n]
  if (due === "what arrived") return [promptTokens(QUESTION), tokens(heard)]
  return "prompt" in due ? [BigInt(due.prompt), tokens(heard)] : [BigInt(due[0]), BigInt(due[1])]
}

const expectTold = ({ types }: Dialect, { told, due }: Fault, { text, usage, raised }: Heard): void => {
  if (told.as === "answer") {
    expect(raised).toBeUndefined()
    expect({ text, usage }).toEqual({ text: told.text, usage: told.usage ?? (Array.isArray(due) ? due : undefined) })
    return
  }
  expect(raised, "the client throws an error").toBeDefined()
  expect({ code: raised?.code, type: raised?.type }).toEqual({ code: told.code, type: types[told.code] })
  if (told.as === "refusal") {
    expect(text).toBe("")
    expect(raised?.status).toBe(told.status)
    expect(raised?.retryAfter).toBe(told.retryAfter)
  } else {
    expect(raised?.status).toBeUndefined()
    if (told.text === undefined) expect(text).not.toBe("")
    else expect(text).toBe(told.text)
  }
}

const endingOf = ({ told }: Fault, { text }: Heard): string =>
  told.as === "answer" ? "complete" : text === "" ? "failed" : "upstream_cut"
