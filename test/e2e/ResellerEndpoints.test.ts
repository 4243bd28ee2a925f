/**
 * Tests outgoing webhooks (docs/reference/webhooks.md). A local receiver records them, and the tests verify them with
 * the library of the Standard Webhooks specification.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { WebhookDispatcher } from "@tollgate/application/webhook/WebhookDispatcher"
import { Effect } from "effect"
import { Webhook } from "standardwebhooks"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { tollgate, useDatabase } from "../cli/CommandLine.ts"
import { refusalIn } from "../support/ResellerRefusals.ts"
import { type Json, listOf, textOf } from "../support/SimulatedPayments.ts"
import { until } from "../support/TestGateway.ts"
import { type Actor, TestProgramme } from "../support/TestProgramme.ts"

interface Received {
  readonly headers: Record<string, string>
  readonly body: string
}

const received: Array<Received> = []
let status = 200
let receiver: Server
let origin: string
let programme: TestProgramme
let reseller: Actor
let other: Actor

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text
    })
    request.on("end", () => {
      received.push({ headers: request.headers as Record<string, string>, body })
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done))
  origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  programme = await TestProgramme.start({ webhookOrigins: [origin] })
  other = await programme.reseller()
})
afterAll(async () => {
  await programme.close()
  receiver.close()
})
beforeEach(async () => {
  received.length = 0
  status = 200
  await programme.query("DELETE FROM webhook_endpoint")
  reseller = await programme.reseller()
})

const ENDPOINTS = "/api/reseller/webhooks/endpoints"
const DELIVERIES = "/api/reseller/webhooks/deliveries"
const as = ({ token }: Actor, body?: unknown) => ({ token, ...(body === undefined ? {} : { body }) })
const create = async (body: object = {}): Promise<Json> =>
  (await programme.post(ENDPOINTS, as(reseller, { url: `${origin}/hooks`, events: ["topup.credited"], ...body }))).body

/** Runs a round of the background task, and waits until its attempts are recorded. */
const deliver = async () => {
  const started = await programme.run(Effect.flatMap(WebhookDispatcher, ({ startDue }) => startDue))
  await until(async () => {
    const running = await programme.query("SELECT 1 FROM webhook_delivery WHERE lease_id IS NOT NULL")
    return running.length === 0
  })
  return started
}

const list = async (query = "") => listOf((await programme.get(`${DELIVERIES}${query}`, as(reseller))).body.data)

describe("an endpoint", () => {
  it("receives a signed webhook after a top-up is credited", async () => {
    const endpoint = await create()
    const order = (await programme.post("/api/reseller/topup", as(reseller, { method: "qris", amount_idr: 50_000 })))
      .body
    await programme.simulate("pay", textOf(order.order_number))
    expect((await programme.get(`/api/reseller/topup/${textOf(order.id)}`, as(reseller))).body.status).toBe("credited")
    // The credit is committed, and no server has delivered the event: it waits in the database.
    expect(received).toEqual([])
    expect(await list()).toMatchObject([{ status: "pending", attempts: 0, type: "topup.credited" }])

    expect(await deliver()).toBe(1)
    expect(await deliver()).toBe(0)
    expect(received).toHaveLength(1)
    const [{ headers, body } = { headers: {}, body: "" }] = received
    const event = new Webhook(textOf(endpoint.secret)).verify(body, headers) as Json
    expect(event).toMatchObject({
      type: "topup.credited",
      timestamp: expect.any(String),
      data: {
        reseller_id: reseller.id,
        topup_id: order.id,
        quota_usd_micro: "5000000",
        method: "qris",
        simulated: true
      }
    })
    const [delivery] = await list()
    expect(delivery).toMatchObject({ status: "delivered", attempts: 1, last_status: 200, next_attempt_at: null })
    expect(headers["webhook-id"]).toBe(delivery?.event_id)
  })

  it("is changed and deleted only by its reseller", async () => {
    const { secret, ...endpoint } = await create({ thresholds: { quota_usd_micro: 5_000_000 } })
    expect(secret).toMatch(/^whsec_/)
    const path = `${ENDPOINTS}/${textOf(endpoint.endpoint_id)}`
    expect(endpoint).toMatchObject({
      url: `${origin}/hooks`,
      events: ["topup.credited"],
      thresholds: { quota_usd_micro: 5_000_000, payg_usd_micro: null, plan_tokens: null },
      enabled: true
    })
    expect((await programme.get(ENDPOINTS, as(reseller))).body).toEqual({ endpoints: [endpoint] })
    expect((await programme.get(ENDPOINTS, as(other))).body).toEqual({ endpoints: [] })
    const refused = [
      await programme.ask("PATCH", path, as(other, { enabled: false })),
      await programme.delete(path, as(other)),
      await programme.post(`${path}/secret`, as(other)),
      await programme.post(`${path}/test`, as(other)),
      await programme.delete(`${ENDPOINTS}/no-id`, as(reseller))
    ]
    expect(refused.map(refusalIn)).toEqual(Array(refused.length).fill("404 endpoint_not_found"))
    const changed = { ...endpoint, enabled: false, events: ["balance.low"] }
    const change = { enabled: false, events: ["balance.low"] }
    expect((await programme.ask("PATCH", path, as(reseller, change))).body).toEqual(changed)
    expect((await programme.delete(path, as(reseller))).body).toEqual({
      endpoint_id: endpoint.endpoint_id,
      deleted: true
    })
    expect((await programme.get(ENDPOINTS, as(reseller))).body).toEqual({ endpoints: [] })
  })

  it.each([
    ["a private address", { url: "https://10.0.0.1/" }, "url"],
    ["the metadata service as a number", { url: "https://2852039166/" }, "url"],
    ["http", { url: "http://hooks.example.com/" }, "url"],
    ["another port of an allowed host", { url: "http://127.0.0.1:1/" }, "url"],
    ["no URL", { url: "hooks" }, "url"],
    ["a URL that is too long when it is escaped", { url: `https://hooks.example.com/${"é".repeat(400)}` }, "url"],
    ["no events", { events: [] }, "events"],
    ["an unknown event", { events: ["topup.paid"] }, "events.0"],
    ["a threshold of zero", { thresholds: { quota_usd_micro: 0 } }, "thresholds.quota_usd_micro"],
    ["an unknown threshold", { thresholds: { quota: 1 } }, "thresholds.quota"]
  ])("is refused with 422 validation_error for %s", async (_, wrong, path) => {
    const response = await programme.post(
      ENDPOINTS,
      as(reseller, { url: `${origin}/`, events: ["topup.credited"], ...wrong })
    )
    expect(refusalIn(response)).toBe("422 validation_error")
    expect(response.body.error).toMatchObject({ details: [{ path }] })
  })

  it("is refused with 409 too_many_endpoints if its reseller has ten endpoints", async () => {
    for (let i = 0; i < 10; i++) await create()
    const response = await programme.post(ENDPOINTS, as(reseller, { url: origin, events: ["topup.credited"] }))
    expect(refusalIn(response)).toBe("409 too_many_endpoints")
  })

  it("receives test events that are signed with both secrets after a rotation", async () => {
    const { endpoint_id, secret: before } = await create()
    const path = `${ENDPOINTS}/${textOf(endpoint_id)}`
    const rotated = await programme.post(`${path}/secret`, as(reseller))
    expect(rotated.status).toBe(201)
    expect(rotated.body.previous_secret_until).toEqual(expect.any(String))
    const tested = await programme.post(`${path}/test`, as(reseller))
    expect(tested).toMatchObject({ status: 201, body: { type: "webhook.test", status: "pending", endpoint_id } })
    await deliver()
    const [{ headers, body } = { headers: {}, body: "" }] = received
    for (const secret of [rotated.body.secret, before]) {
      expect(new Webhook(textOf(secret)).verify(body, headers)).toMatchObject({
        type: "webhook.test",
        data: { endpoint_id }
      })
    }
  })
})

describe("a delivery", () => {
  it("is replayed with the same event id", async () => {
    const { endpoint_id } = await create()
    await programme.post(`${ENDPOINTS}/${textOf(endpoint_id)}/test`, as(reseller))
    status = 503
    await deliver()
    expect(await list("?status=pending")).toMatchObject([
      { status: "pending", attempts: 1, last_status: 503, last_failure: null, next_attempt_at: expect.any(String) }
    ])
    await programme.query("UPDATE webhook_delivery SET next_attempt_at = now()")
    status = 200
    await deliver()
    const [delivery] = await list(`?endpoint=${textOf(endpoint_id)}&status=delivered`)
    expect(delivery).toMatchObject({ attempts: 2, last_status: 200 })
    const path = `${DELIVERIES}/${textOf(delivery?.delivery_id)}/replay`
    expect(refusalIn(await programme.post(path, as(other)))).toBe("404 delivery_not_found")
    expect(await programme.post(path, as(reseller))).toMatchObject({
      status: 200,
      body: { status: "pending", attempts: 0 }
    })
    await deliver()
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual(Array(3).fill(delivery?.event_id))
    expect(new Set(received.map(({ body }) => body)).size).toBe(1)
  })

  it("is sent again after an operator replays it", async () => {
    await programme.post(`${ENDPOINTS}/${textOf((await create()).endpoint_id)}/test`, as(reseller))
    status = 503
    await deliver()
    await programme.query("UPDATE webhook_delivery SET status = 'failed', expires_at = now()")
    status = 200
    expect(await deliver()).toBe(0)
    const [failed] = await list("?status=failed")
    useDatabase(programme.settings.database.url)
    const printed = await Effect.runPromise(tollgate("webhooks", "replay", textOf(failed?.delivery_id)))
    expect(printed).toMatchObject({ code: 0, stderr: "" })
    expect(await deliver()).toBe(1)
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual(Array(2).fill(failed?.event_id))
    expect(new Set(received.map(({ body }) => body)).size).toBe(1)
    expect(await list()).toMatchObject([{ event_id: failed?.event_id, status: "delivered", attempts: 1 }])
  })

  it("is listed page by page, newest first", async () => {
    const { endpoint_id } = await create()
    const ids: Array<unknown> = []
    for (let i = 0; i < 3; i++) {
      ids.unshift((await programme.post(`${ENDPOINTS}/${textOf(endpoint_id)}/test`, as(reseller))).body.delivery_id)
    }
    const first = (await programme.get(`${DELIVERIES}?limit=2`, as(reseller))).body
    const rest = (await programme.get(`${DELIVERIES}?limit=2&cursor=${textOf(first.next_cursor)}`, as(reseller))).body
    const idsOf = (page: Json) => listOf(page.data).map(({ delivery_id }) => delivery_id)
    expect([...idsOf(first), ...idsOf(rest)]).toEqual(ids)
    expect(rest.next_cursor).toBeNull()
    expect(refusalIn(await programme.get(`${DELIVERIES}?endpoint=x`, as(reseller)))).toBe("422 validation_error")
    expect(refusalIn(await programme.get(`${DELIVERIES}?status=x`, as(reseller)))).toBe("422 validation_error")
  })

  it("can be requested at most 30 times a minute by one reseller", async () => {
    const { endpoint_id } = await create()
    const path = `${ENDPOINTS}/${textOf(endpoint_id)}/test`
    expect((await programme.post(path, as(reseller))).status).toBe(201)
    // Records 29 requests with times in the future, so that none of them expires during the test.
    await programme.query(
      "UPDATE login_window SET hits = array_fill(now() + interval '30 seconds', ARRAY[29]) WHERE key = $1",
      [`webhooks of ${reseller.id}`]
    )
    const replayPath = `${DELIVERIES}/${textOf((await list())[0]?.delivery_id)}/replay`
    expect((await programme.post(replayPath, as(reseller))).status).toBe(200)
    expect(refusalIn(await programme.post(path, as(reseller)))).toBe("429 rate_limited")
    expect(refusalIn(await programme.post(replayPath, as(reseller)))).toBe("429 rate_limited")
  })
})
