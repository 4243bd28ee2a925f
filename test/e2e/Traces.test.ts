/**
 * Tests the traces of a real server process, with a collector that records the received spans.
 */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import { afterAll, beforeAll, expect, it } from "vitest"
import { ServerProcess } from "../support/ServerProcess.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { chatFrames, completion, errorBody, usage } from "../support/upstream/ChatWire.ts"
import { json, stream } from "../support/upstream/Script.ts"

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Readonly<Record<string, unknown>> }>
  readonly status: { readonly code: number; readonly message?: string }
}

const OK = 1
const ERROR = 2

let gateway: TestGateway
let collector: Server
let endpoint: string
const spans: Array<Span> = []
const requests: Array<{ readonly path: string; readonly headers: IncomingHttpHeaders; readonly text: string }> = []

beforeAll(async () => {
  gateway = await TestGateway.start({ settings: { NODE_DEAD_AFTER_SECONDS: "3600" } })
  collector = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8")
      requests.push({ path: request.url ?? "", headers: request.headers, text })
      for (const { scopeSpans } of JSON.parse(text).resourceSpans)
        for (const { spans: all } of scopeSpans) spans.push(...all)
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  await new Promise<void>((done) => collector.listen(0, "127.0.0.1", done))
  endpoint = `http://127.0.0.1:${(collector.address() as { port: number }).port}/otlp`
})
afterAll(async () => {
  collector.closeAllConnections()
  await new Promise((done) => collector.close(done))
  await gateway.close()
})

const ask = async (server: ServerProcess, streamed: boolean): Promise<string> => {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ model: "m", stream: streamed, messages: [{ role: "user", content: "a secret prompt" }] })
  })
  await response.text()
  return response.headers.get("x-request-id") ?? ""
}

const attributesOf = ({ attributes }: Span): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

/** Returns the spans of a request by name. The trace id consists of the digits of the request id. */
const traceOf = (requestId: string): ReadonlyMap<string, Span> =>
  new Map(spans.filter(({ traceId }) => traceId === requestId.replaceAll("-", "")).map((span) => [span.name, span]))

it("a trace has spans for the request, its admission, attempt and settlement", async () => {
  const server = await ServerProcess.beside(gateway, {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: "x-collector-key=abc=1, x-other=100%, authorization=Basic%20YTpi",
    OTEL_SERVICE_NAME: "gateway-under-test",
    OTEL_TRACES_SAMPLER_ARG: "1"
  })
  gateway.upstream.next(stream(chatFrames({ content: ["a", "b"], usage: usage(3, 2) })))
  const streamed = await ask(server, true)
  gateway.upstream.next(json(completion({ usage: usage(3, 2) })))
  const whole = await ask(server, false)
  gateway.upstream.next(json(errorBody("broken"), 500))
  const failed = await ask(server, false)
  await gateway.settled()
  // The server sends the remaining spans before it exits.
  expect(await server.stop()).toMatchObject({ code: 0 })

  for (const requestId of [streamed, whole]) {
    const trace = traceOf(requestId)
    expect([...trace.keys()].sort()).toEqual(["admission", "inference request", "settlement", "upstream"])
    expect(spans.filter(({ traceId }) => traceId === requestId.replaceAll("-", ""))).toHaveLength(4)
    const root = trace.get("inference request") as Span
    expect(root.parentSpanId ?? "").toBe("")
    expect(attributesOf(root)).toMatchObject({ request_id: requestId, model: "m", protocol: "chat" })
    for (const name of ["admission", "upstream", "settlement"]) {
      const span = trace.get(name) as Span
      expect(span).toMatchObject({ parentSpanId: root.spanId, status: { code: OK } })
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
    }
    expect(attributesOf(trace.get("upstream") as Span)).toMatchObject({ provider: "scripted-provider" })
    expect(attributesOf(trace.get("settlement") as Span)).toMatchObject({
      ending: "complete",
      cost_usd_pico: "7000000"
    })
  }
  const trace = traceOf(failed)
  expect(trace.get("upstream")?.status).toEqual({ code: ERROR, message: "UpstreamFailed" })
  expect(trace.get("inference request")?.status).toEqual({ code: ERROR, message: "UpstreamFailed" })

  const sent = requests.map(({ text }) => text).join("\n")
  expect(sent).toContain("gateway-under-test")
  expect(sent).not.toContain("a secret prompt")
  expect(sent).not.toContain(gateway.key)
  for (const { headers, path } of requests) {
    expect(path).toBe("/otlp/v1/traces")
    expect(headers).toMatchObject({
      "x-collector-key": "abc=1",
      "x-other": "100%",
      authorization: "Basic YTpi",
      "content-type": "application/json"
    })
  }
  const line = server.stderr.split("\n").find((each) => each.includes("upstream request failed")) ?? ""
  expect(line).toContain(`request_id=${failed} `)
  expect(line).toContain(`trace_id=${failed.replaceAll("-", "")}`)
})

it("traces are not sent for requests outside the sample", async () => {
  const before = requests.length
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: "0" }
  const server = await ServerProcess.beside(gateway, settings)
  gateway.upstream.next(json(errorBody("broken"), 500))
  await ask(server, false)
  await gateway.settled()
  expect(await server.stop()).toMatchObject({ code: 0 })
  expect(server.stderr).toContain("upstream request failed")
  expect(server.stderr).not.toContain("trace_id")
  expect(requests).toHaveLength(before)
})

it("requests are settled while the collector of traces is down", async () => {
  const server = await ServerProcess.beside(gateway, {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    OTEL_TRACES_SAMPLER_ARG: "1"
  })
  gateway.upstream.next(json(completion({ usage: usage(3, 2) })))
  const requestId = await ask(server, false)
  expect((await gateway.settlementOf(requestId)).ending).toBe("complete")
  expect(await server.stop()).toMatchObject({ code: 0 })
})
