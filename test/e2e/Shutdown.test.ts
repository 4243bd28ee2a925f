/**
 * Tests the shutdown of a busy server.
 */
import { Agent, type IncomingMessage, request } from "node:http"
import { connect } from "node:net"
import { afterAll, beforeAll, expect, it } from "vitest"
import { ServerProcess } from "../support/ServerProcess.ts"
import { StreamClient } from "../support/StreamClient.ts"
import { type Customer, TestGateway, until } from "../support/TestGateway.ts"
import { asPlayed, PROMPT_TOKENS, played } from "../support/upstream/Play.ts"
import { signal } from "../support/upstream/Script.ts"

const DRAIN_SECONDS = 8
// The servers send a heartbeat each second. A machine that is busy with other tests can delay it by seconds.
const DEAD_AFTER_SECONDS = "6"

interface ReceivedResponse {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

/** A gateway that owns the database and the upstream. It settles the holds of servers that are silent. */
let observer: TestGateway
let customer: Customer

beforeAll(async () => {
  observer = await TestGateway.start({ settings: { NODE_DEAD_AFTER_SECONDS: DEAD_AFTER_SECONDS } })
  customer = await observer.newCustomer(1_000_000n)
})
afterAll(() => observer.close())

const call = (url: string, agent: Agent | false = false, method = "GET", body?: object): Promise<ReceivedResponse> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${customer.key}`, "content-type": "application/json" }
    const sent = request(url, { agent, method, headers }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece
      })
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
      response.on("error", reject)
    })
    sent.on("error", reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

/** Waits until the server refuses connections. A connection that was opened shortly before can be reset. */
const refusing = (url: string): Promise<void> =>
  until(() =>
    call(`${url}/healthz`).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === "ECONNREFUSED"
    )
  )

/** Waits until the server that was started last has sent this many further heartbeats. */
const heartbeats = async (count: number): Promise<void> => {
  const times = new Set<string>()
  await until(async () => {
    const [node] = await observer.query<{ beat_at: string }>(
      "SELECT beat_at::text FROM gateway_node ORDER BY started_at DESC LIMIT 1"
    )
    times.add(String(node?.beat_at))
    return times.size > count
  })
}

const chat = { model: "m", messages: [{ role: "user", content: "Say hello." }] }

it("a stopping server completes the streams that end within the grace period", async () => {
  const server = await ServerProcess.beside(observer, {
    DRAIN_SECONDS: String(DRAIN_SECONDS),
    NODE_DEAD_AFTER_SECONDS: DEAD_AFTER_SECONDS
  })
  const go = signal()
  observer.upstream.always((received) => {
    const { play, stream } = received.json() as { play?: { deltas: number }; stream?: boolean }
    const endless = play?.deltas === 1_000_000
    const script = asPlayed(endless ? signal() : go)(received)
    return stream === true ? script : { ...script, steps: [() => go.fired, ...script.steps] }
  })

  // Three connections are idle. Two of them have carried a request.
  const keptAlive = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })] as const
  for (const agent of keptAlive) expect((await call(`${server.url}/readyz`, agent)).status).toBe(200)
  const mute = connect(Number(new URL(server.url).port), "127.0.0.1")
  const muteClosed = new Promise((resolve) => mute.once("close", resolve))
  // Three requests are open: a stream that ends within the grace period, an endless stream, and a whole response.
  const finite = StreamClient.open(server.url, customer.key, { deltas: 10_000, everyMillis: 20 })
  const endless = StreamClient.open(server.url, customer.key, { deltas: 1_000_000, everyMillis: 20 })
  const whole = call(`${server.url}/v1/chat/completions`, false, "POST", { ...chat, ...played({ deltas: 4 }) })
  await Promise.all([finite.received(3), endless.received(3)])
  await until(() => observer.upstream.requests.length === 3)
  const endlessUpstream = observer.upstream.requests.find((received) => received.body.includes("1000000"))

  const signalledAtMillis = performance.now()
  server.signal("SIGTERM")
  await refusing(server.url)
  const ready = await call(`${server.url}/readyz`, keptAlive[0])
  expect(ready).toMatchObject({ status: 503, body: '{"status":"not_ready","reason":"draining"}' })
  const late = await call(`${server.url}/v1/chat/completions`, keptAlive[1], "POST", chat)
  expect(late).toMatchObject({ status: 503, headers: { connection: "close", "retry-after": "1" } })
  expect(JSON.parse(late.body)).toMatchObject({ type: "error", error: { code: "overloaded" } })

  // A server that drains is not silent, so the observer does not settle its requests.
  await heartbeats(2)
  await finite.received(finite.deltas.length + 20)
  go.fire()
  expect(await finite.over).toBe("done")
  const wholeResponse = await whole
  expect(wholeResponse.status).toBe(200)
  expect(await endless.over).toBe("error")
  await endlessUpstream?.left
  expect(await server.exited).toEqual({ code: 0, signal: null })
  const tookMillis = performance.now() - signalledAtMillis
  expect(tookMillis).toBeGreaterThan(DRAIN_SECONDS * 1_000)
  await muteClosed
  for (const agent of keptAlive) agent.destroy()

  expect(await observer.query("SELECT 1 FROM open_request")).toEqual([])
  expect(await observer.settlementOf(finite.requestId)).toMatchObject({
    ending: "complete",
    charged_input: BigInt(PROMPT_TOKENS),
    charged_output: BigInt(finite.deltas.length)
  })
  expect(await observer.settlementOf(String(wholeResponse.headers["x-request-id"]))).toMatchObject({
    ending: "complete",
    charged_output: 4n
  })
  expect(await observer.settlementOf(endless.requestId)).toMatchObject({
    ending: "client_gone",
    charged_output: BigInt(endless.deltas.length)
  })
  expect(endless.frames.at(-1)?.data).toContain('"overloaded"')
  expect(await observer.query("SELECT 1 FROM settlement")).toHaveLength(3)
  expect(await observer.query("SELECT 1 FROM gateway_node WHERE left_at IS NULL")).toHaveLength(1)
  expect(await observer.audit()).toEqual([])
})

it("a stopping server settles its open requests despite repeated signals", async () => {
  const server = await ServerProcess.beside(observer, {
    DRAIN_SECONDS: "20",
    NODE_DEAD_AFTER_SECONDS: DEAD_AFTER_SECONDS
  })
  const go = signal()
  observer.upstream.always(asPlayed(go))
  const client = StreamClient.open(server.url, customer.key, { deltas: 10_000, everyMillis: 10 })
  await client.received(3)
  server.signal("SIGTERM")
  await refusing(server.url)
  server.signal("SIGTERM")
  server.signal("SIGINT")
  await client.received(client.deltas.length + 20)
  go.fire()
  expect(await client.over).toBe("done")
  expect(await server.exited).toEqual({ code: 0, signal: null })
  expect(await observer.query("SELECT 1 FROM open_request")).toEqual([])
  expect(await observer.settlementOf(client.requestId)).toMatchObject({
    ending: "complete",
    charged_output: BigInt(client.deltas.length)
  })
})
