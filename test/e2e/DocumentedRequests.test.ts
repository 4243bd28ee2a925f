import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { document } from "../support/openapi/Document.ts"
import { type GeneratedRequest, requestsTo } from "../support/openapi/GeneratedRequests.ts"
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
beforeAll(async () => {
  programme = await TestProgramme.start()
  programme.upstream.always(asPlayed())
  reseller = await programme.reseller({ quotaUsdMicro: 50_000_000n })
  other = await programme.reseller()
  customer = await programme.customerOf(reseller, 1_000_000n)
  const { body } = await programme.post(`/api/reseller/customers/${customer.userId}/keys`, {
    token: reseller.token,
    body: { name: "documented" }
  })
  apiKey = String(body.secret)
})
afterAll(() => programme.close())

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
        const known = {
          orderID: customer.userId,
          userID: customer.userId,
          keyID: customer.userId,
          endpointID: customer.userId,
          deliveryID: customer.userId,
          provider: "midtrans",
          model: "m"
        }
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
