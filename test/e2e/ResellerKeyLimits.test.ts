/**
 * Tests the limits of keys that a reseller sets over HTTP (docs/reference/key-limits.md).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { listOf, textOf } from "../support/SimulatedPayments.ts"
import { type Actor, TestProgramme } from "../support/TestProgramme.ts"
import { completion, usage } from "../support/upstream/ChatWire.ts"
import { json } from "../support/upstream/Script.ts"

let programme: TestProgramme
let reseller: Actor
beforeAll(async () => {
  programme = await TestProgramme.start()
  reseller = await programme.reseller()
})
afterAll(() => programme.close())

const NO_LIMITS = {
  spend_usd_micro_per_day: null,
  spend_usd_micro_per_month: null,
  spend_usd_micro_total: null,
  requests_per_minute: null,
  tokens_per_minute: null,
  concurrent_requests: null,
  expires_at: null,
  models: null
}

const create = async (body: object) => {
  const { userId } = await programme.customerOf(reseller, 1_000_000n)
  const path = `/api/reseller/customers/${userId}/keys`
  return { userId, created: await programme.post(path, { token: reseller.token, body }) }
}

const change = (keyId: string, body: unknown, { token }: Actor = reseller) =>
  programme.ask("PATCH", `/api/reseller/keys/${keyId}`, { token, body })

describe("the limits of a customer's key", () => {
  it("can be set, changed and listed", async () => {
    const { created, userId } = await create({ name: "laptop", limits: { spend_usd_micro_per_day: 5_000_000 } })
    const limits = { ...NO_LIMITS, spend_usd_micro_per_day: 5_000_000 }
    expect(created).toMatchObject({ status: 201, body: { name: "laptop", limits } })
    const keyId = textOf(created.body.key_id)
    const changed = await change(keyId, { limits: { requests_per_minute: 60, models: ["m"] } })
    const now = { ...limits, requests_per_minute: 60, models: ["m"] }
    expect(changed).toMatchObject({
      status: 200,
      body: { key_id: keyId, name: "laptop", limits: now, limit_usage: { available_usd_micro: "5000000" } }
    })
    const listed = await programme.get(`/api/reseller/customers/${userId}/keys`, reseller)
    expect(listOf(listed.body.data)).toMatchObject([{ key_id: keyId, limits: now }])
    const removed = await change(keyId, {
      limits: { spend_usd_micro_per_day: null, requests_per_minute: null, models: null }
    })
    expect(removed.body).toMatchObject({ limits: null, limit_usage: null })
  })

  it("are absent for a key without limits", async () => {
    const { created } = await create({ name: "laptop" })
    expect(Object.keys(created.body)).toEqual(["key_id", "name", "secret"])
  })

  it("are shown to the customer together with their usage", async () => {
    const { created } = await create({
      name: "laptop",
      limits: { spend_usd_micro_total: 1_000, tokens_per_minute: 1_000 }
    })
    const token = textOf(created.body.secret)
    programme.upstream.next(json(completion({ usage: usage(10, 1) })))
    const body = { model: "m", messages: [{ role: "user", content: "hi" }], max_tokens: 5 }
    expect((await programme.post("/v1/chat/completions", { token, body })).status).toBe(200)
    await programme.settled()
    const { body: own } = await programme.get("/v1/balance", { token })
    expect(own).toMatchObject({
      limits: { spend_usd_micro_total: 1_000, tokens_per_minute: 1_000 },
      limit_usage: { held_usd_micro: "0", open_requests: 0, requests_this_minute: 1, tokens_this_minute: 11 }
    })
    const spent = textOf(own.limit_usage?.spent_usd_micro_total)
    expect(spent).not.toBe("0")
    expect(textOf(own.limit_usage?.spent_usd_micro_today)).toBe(spent)
  })

  it("cause 422 with the path of each invalid limit", async () => {
    const { created } = await create({ name: "laptop" })
    const keyId = textOf(created.body.key_id)
    const refused = await change(keyId, { limits: { requests_per_minute: 0, expires_at: "soon" } })
    expect(refusalIn(refused)).toBe("422 validation_error")
    expect(pathsIn(refused)).toEqual(["limits.requests_per_minute", "limits.expires_at"])
    expect(pathsIn(await change(keyId, { limits: { models: ["no-such-model"] } }))).toEqual(["limits.models"])
    expect(pathsIn(await change(keyId, { limits: { spend_per_day: 5 } }))).toEqual(["limits.spend_per_day"])
    expect(pathsIn(await change(keyId, {}))).toEqual(["limits"])
    const unknown = await create({ name: "laptop", limits: { models: ["no-such-model"] } })
    expect(pathsIn(unknown.created)).toEqual(["limits.models"])
  })

  it("cannot be changed by another reseller", async () => {
    const { created } = await create({ name: "laptop" })
    const other = await programme.reseller()
    const body = { limits: { requests_per_minute: 1 } }
    expect(refusalIn(await change(textOf(created.body.key_id), body, other))).toBe("404 not_found")
    expect(refusalIn(await change("no-uuid", body))).toBe("404 not_found")
  })
})
