/** The last events of a responses stream that fails must continue the events that the client has received. */

import type { PlanAccount } from "@tollgate/domain/ledger/Account"
import { afterEach, expect, it } from "vitest"
import { aProvider } from "../../../support/upstream/Candidates.ts"
import { created as createdEvent, numbered, opening, textDelta } from "../../../support/upstream/ResponsesWire.ts"
import { FakeUpstreams } from "../relay/FakeUpstreams.ts"
import { catalogOf, closeGateways, eventually, KEY, noResources, planOf, startGateway } from "../relay/TestGateway.ts"
import { eventsOf, typesOf } from "./TranslatedStream.ts"

afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

const start = async (options: object = {}, plan?: PlanAccount) => {
  const upstreams = new FakeUpstreams()
  const { timeouts } = aProvider()
  const gateway = await startGateway({
    catalog: catalogOf({ protocols: ["responses"], timeouts: { ...timeouts, idleMillis: 10_000 } }),
    upstreams: upstreams.layer,
    ...options
  })
  if (plan !== undefined) gateway.journal.plan = plan
  const response = fetch(`${gateway.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", input: "hi", stream: true })
  })
  const upstream = await upstreams.next()
  expect(upstream.request.path).toBe("/responses")
  return { gateway, upstream, response }
}

it("a responses stream that fails after a keepalive begins with response.created", async () => {
  const { gateway, upstream, response } = await start({ keepaliveSeconds: 0.05 })
  const { status, body } = await response
  expect(status).toBe(200)
  upstream.events.onBroken("gone")
  const text = await new Response(body).text()
  expect(text.startsWith(": keepalive\n\n")).toBe(true)
  const events = eventsOf(text.replaceAll(": keepalive\n\n", ""))
  expect(typesOf(events)).toEqual(["response.created", "response.failed", "error"])
  const [created, failed] = events
  expect(created).toMatchObject({ response: { model: "m", id: expect.stringMatching(/^resp_[0-9a-f]{32}$/) } })
  expect(failed).toMatchObject({ response: { error: { code: "upstream_error" } } })
  await eventually(() => gateway.journal.settled.length === 1)
  expect(gateway.journal.settled[0]).toMatchObject({ ending: "failed", charge: { charged: { output: 0n } } })
})

it("a responses stream that is open when the drain ends gets error events", async () => {
  const { gateway, upstream, response } = await start({ drainSeconds: 0.1 })
  upstream.stream()
  for (const event of numbered(...opening(), textDelta("hello"))) upstream.event(event)
  const { body } = await response
  const closing = gateway.close()
  const events = eventsOf(await new Response(body).text())
  await closing
  expect(events.at(-2)).toMatchObject({
    type: "response.failed",
    sequence_number: 5,
    response: { id: "resp_up_1", status: "failed", error: { code: "overloaded" } }
  })
  expect(events.at(-1)).toMatchObject({ type: "error", code: "overloaded", sequence_number: 6 })
  expect(gateway.journal.settled[0]).toMatchObject({ ending: "client_gone", charge: { charged: { output: 5n } } })
})

it("a responses stream that is cut while a delta is held back has no gap in its sequence numbers", async () => {
  const { upstream, response } = await start({}, planOf(3_000n))
  upstream.stream()
  const deltas = Array.from({ length: 60 }, () => textDelta("x".repeat(100)))
  for (const event of numbered(...opening(), ...deltas)) upstream.event(event)
  const { body } = await response
  const events = eventsOf(await new Response(body).text())
  expect(events.length).toBeLessThan(60)
  expect(events.at(-1)).toMatchObject({ type: "error", code: "insufficient_balance" })
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, place) => place))
})

it("a responses stream ends with response.failed and error after an exception in the gateway", async () => {
  const { gateway, upstream, response } = await start()
  upstream.stream()
  upstream.event(createdEvent())
  const { body } = await response
  upstream.events.onData(undefined as unknown as Buffer)
  const events = eventsOf(await new Response(body).text())
  expect(typesOf(events)).toEqual(["response.created", "response.failed", "error"])
  expect(events.at(-1)).toMatchObject({ code: "internal_error", sequence_number: 2 })
  expect(gateway.logged.some((line) => line.includes("unexpected exception"))).toBe(true)
})
