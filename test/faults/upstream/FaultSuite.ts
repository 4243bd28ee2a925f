/**
 * Tests upstream faults with the official client of a protocol: the result at the client, and the charge. Each fault
 * has its own provider and model, so that the faults run in parallel.
 */
import { createServer } from "node:net"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { promptTokens, tokens } from "../../support/LocalCount.ts"
import { RecordingProxy } from "../../support/RecordingProxy.ts"
import { ScriptedUpstream, unusedAddress } from "../../support/ScriptedUpstream.ts"
import { PROVIDER_KEY, TestGateway, until } from "../../support/TestGateway.ts"
import { selfSigned } from "../../support/upstream/SelfSigned.ts"
import { type Caller, type Dialect, QUESTION, type ReceivedResult } from "./Dialect.ts"
import { DeliveredEvents, type ExpectedCharge, type Fault, type UnreachableAddress } from "./Fault.ts"
import { HIDDEN_MODEL, identifyingHeaders, leaks, PROVIDER } from "./IdentifyingData.ts"

const BALANCE = 1_000_000n

interface Case {
  readonly fault: Fault
  readonly model: string
  readonly upstreamModel: string
  readonly delivered: DeliveredEvents
}

/** The test of the balance fails unless there are more than `moreThan` faults. */
export const faultSuite = (dialect: Dialect, faults: ReadonlyArray<Fault>, moreThan: number): void => {
  const cases: ReadonlyArray<Case> = faults.map((fault, i) => ({
    fault,
    model: `fault-${i}`,
    upstreamModel: `${HIDDEN_MODEL}-${i}`,
    delivered: new DeliveredEvents()
  }))

  let gateway: TestGateway
  let tls: ScriptedUpstream
  const plain = createServer((socket) => socket.resume().end("HTTP/1.1 400 Bad Request\r\n\r\n"))
  let proxy: RecordingProxy
  let caller: Caller
  /** The sum of the expected charges in micro-USD. */
  let expectedUsdMicro = 0n

  beforeAll(async () => {
    gateway = await TestGateway.start()
    tls = await ScriptedUpstream.start({ tls: selfSigned })
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve))
    proxy = await RecordingProxy.start(gateway.url)
    caller = dialect.callerOf(proxy.url, gateway.key)

    const scripts = new Map(
      cases.map(({ upstreamModel, fault, delivered }) => [upstreamModel, fault.upstreamScript(delivered)])
    )
    gateway.upstream.always((request) => {
      const script = scripts.get((request.json() as { readonly model: string }).model)
      if (script === undefined) throw new Error("no fault has this upstream model")
      return { ...script, headers: { ...identifyingHeaders, ...script.headers } }
    })
    await gateway.applyCatalogFile(catalog(await addresses()))
  })
  afterAll(async () => {
    await proxy.close()
    await tls.close()
    await new Promise((resolve) => plain.close(resolve))
    await gateway.close()
  })

  const addresses = async (): Promise<Readonly<Record<UnreachableAddress, string>>> => {
    const address = plain.address()
    return {
      "at a closed port": await unusedAddress(),
      "behind an untrusted certificate": tls.baseUrl,
      "at a port without TLS": `https://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    }
  }

  const catalog = (elsewhere: Readonly<Record<UnreachableAddress, string>>) => ({
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

  const request = async ({ fault, model, delivered }: Case): Promise<ReceivedResult> => {
    const received: ReceivedResult = { requestId: "", text: "", usage: undefined, raised: undefined }
    try {
      if (fault.requested === "whole") await caller.requestWhole(model, received)
      else await caller.requestStream(model, received, () => delivered.add())
    } catch (error) {
      received.raised = caller.raised(error)
      if (received.raised === undefined) throw error
      received.requestId ||= received.raised.requestId ?? ""
    }
    return received
  }

  describe.concurrent("the result and the charge are as listed when the upstream", () => {
    it.each(
      cases.map(
        (each) =>
          [
            each.fault.upstream,
            `requested: ${each.fault.requested === "whole" ? "a whole response" : "a stream"}`,
            each
          ] as const
      )
    )("%s (%s)", async (_upstream, _requested, each) => {
      const { fault, upstreamModel } = each
      const received = await request(each)
      expectResult(dialect, fault, received)

      const [input, output] = chargedTokensOf(fault.charge, received.text)
      const settlement = await gateway.settlementOf(received.requestId)
      expect({
        ending: settlement.ending,
        input: settlement.charged_input + settlement.charged_cache_read + settlement.charged_cache_write,
        output: settlement.charged_output,
        paid: settlement.payg_pico
      }).toEqual({ ending: endingOf(fault, received), input, output, paid: (input + 2n * output) * 1_000_000n })
      expectedUsdMicro += input + 2n * output

      // The gateway can disconnect before the upstream has read the request, so this check is repeated until it passes.
      const requestedPaths = () =>
        gateway.upstream.requests
          .filter((request) => request.body.includes(`"${upstreamModel}"`))
          .map(({ path }) => path)
      await vi.waitFor(() => expect(requestedPaths()).toEqual(fault.at === undefined ? [dialect.path] : []), 30_000)
    })
  })

  describe("after all faults", () => {
    it("the balance has decreased by the sum of the expected charges", async () => {
      expect(cases.length).toBeGreaterThan(moreThan)
      expect(expectedUsdMicro).toBeGreaterThan(0n)
      expect(BALANCE - (await gateway.balanceUsdMicro())).toBe(expectedUsdMicro)
      const [{ paid } = { paid: 0 }] = await gateway.query<{ paid: string }>(
        "SELECT sum(payg_pico) AS paid FROM settlement"
      )
      expect(BigInt(paid)).toBe(expectedUsdMicro * 1_000_000n)
    })

    it("no response reveals the name, host, model or key of a provider", () => {
      const { host } = new URL(gateway.upstream.baseUrl)
      expect(proxy.leaksOf([...leaks, PROVIDER_KEY, host, new URL(tls.baseUrl).host])).toEqual([])
    })

    it("no request, stream, exchange or buffered body remains", async () => {
      const { counters } = gateway
      await until(
        () => counters.openRequests + counters.openStreams + counters.openExchanges + counters.bodyBytes === 0
      )
    })
  })
}

const chargedTokensOf = (charge: ExpectedCharge, received: string): readonly [input: bigint, output: bigint] => {
  if (charge === "nothing") return [0n, 0n]
  if (charge === "delivered content") return [promptTokens(QUESTION), tokens(received)]
  return "prompt" in charge ? [BigInt(charge.prompt), tokens(received)] : [BigInt(charge[0]), BigInt(charge[1])]
}

const expectResult = (
  { types }: Dialect,
  { expected, charge }: Fault,
  { text, usage, raised }: ReceivedResult
): void => {
  if (expected.kind === "complete") {
    expect(raised).toBeUndefined()
    expect({ text, usage }).toEqual({
      text: expected.text,
      usage: expected.usage ?? (Array.isArray(charge) ? charge : undefined)
    })
    return
  }
  expect(raised, "the client throws an error").toBeDefined()
  expect({ code: raised?.code, type: raised?.type }).toEqual({ code: expected.code, type: types[expected.code] })
  if (expected.kind === "refusal") {
    expect(text).toBe("")
    expect(raised?.status).toBe(expected.status)
    expect(raised?.retryAfter).toBe(expected.retryAfter)
  } else {
    expect(raised?.status).toBeUndefined()
    if (expected.text === undefined) expect(text).not.toBe("")
    else expect(text).toBe(expected.text)
  }
}

const endingOf = ({ expected }: Fault, { text }: ReceivedResult): string =>
  expected.kind === "complete" ? "complete" : text === "" ? "failed" : "upstream_cut"
