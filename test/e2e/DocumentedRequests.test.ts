import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { document } from "../support/openapi/Document.ts"
import { type GeneratedRequest, requestsTo } from "../support/openapi/GeneratedRequests.ts"
import { type Json, textOf } from "../support/SimulatedPayments.ts"
import { type Actor, type Customer, TestProgramme } from "../support/TestProgramme.ts"
import { asPlayed } from "../support/upstream/Play.ts"

/** Operations that end the token with which the other requests are sent. */
const ENDS_TOKEN = new Set(["logOut", "changePassword"])
const CONCURRENCY = 8

let programme: TestProgramme
let reseller: Actor
let other: Actor
let customer: Customer
let apiKey: string
/** A value of each path parameter. The ids belong to objects of the reseller. */
let known: Readonly<Record<string, string>>
beforeAll(async () => {
  programme = await TestProgramme.start()
  programme.upstream.always(asPlayed())
  reseller = await programme.reseller({ quotaUsdMicro: 50_000_000n })
  other = await programme.reseller()
  customer = await programme.customerOf(reseller, 1_000_000n)
  apiKey = textOf((await post(`customers/${customer.userId}/keys`, { name: "documented" })).secret)
  const hook = { url: "https://hooks.example/", events: ["topup.credited"] }
  const endpointID = textOf((await post("webhooks/endpoints", hook)).endpoint_id)
  known = {
    orderID: textOf((await post("topup", { method: "qris", amount_idr: 10_000 })).id),
    userID: customer.userId,
    // The requests revoke this key, so it is not the key of the inference requests.
    keyID: textOf((await post(`customers/${customer.userId}/keys`, { name: "to be revoked" })).key_id),
    endpointID,
    deliveryID: textOf((await post(`webhooks/endpoints/${endpointID}/test`, {})).delivery_id),
    provider: "midtrans",
    model: "m"
  }
})
afterAll(() => programme.close())

const post = async (path: string, body: object): Promise<Json> =>
  (await programme.post(`/api/reseller/${path}`, { token: reseller.token, body })).body

const send = async ({ method, target, headers, body }: GeneratedRequest): Promise<number> => {
  const response = await fetch(programme.url + target, {
    method,
    redirect: "manual",
    headers,
    ...(body === undefined ? {} : { body })
  })
  await response.arrayBuffer()
  return response.status
}

describe("generated requests to every route", () => {
  it("get only replies that the OpenAPI document states", async () => {
    const requests = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) => {
        const token = ENDS_TOKEN.has(operation.operationId) ? other.token : reseller.token
        return requestsTo({ path, method, operation, known, token, apiKey })
      })
    )
    const statuses = new Map<number, number>()
    const queue = requests.values()
    const worker = async () => {
      for (const request of queue) {
        const status = await send(request)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
    expect(requests.length).toBeGreaterThan(500)
    for (const status of [200, 201, 400, 401, 404, 405, 413, 422])
      expect(statuses.get(status), `${status}`).toBeGreaterThan(0)
    // The check after each test compares the replies with the document.
  }, 180_000)
})
