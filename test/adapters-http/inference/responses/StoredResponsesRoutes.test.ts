import OpenAI from "openai"
import { afterAll, beforeAll, expect, it } from "vitest"
import { catalogOf, closeGateways, KEY, noResources, startGateway, type TestGateway } from "../relay/TestGateway.ts"

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway({ catalog: catalogOf({}) })
})
afterAll(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

const calls: ReadonlyArray<readonly [string, (client: OpenAI) => Promise<unknown>]> = [
  ["fetch a response", (client) => client.responses.retrieve("resp_1")],
  ["delete a response", (client) => client.responses.delete("resp_1")],
  ["cancel a response", (client) => client.responses.cancel("resp_1")],
  ["list the input items of a response", (client) => client.responses.inputItems.list("resp_1").then(() => {})]
]

it.each(calls)("a request to %s returns 404 because responses are not stored", async (_, call) => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 })
  await expect(call(client)).rejects.toMatchObject({
    status: 404,
    code: "not_found",
    type: "invalid_request_error",
    message: expect.stringContaining("does not store responses"),
    requestID: expect.any(String)
  })
})

it.each(calls)("a request to %s returns 401 for an invalid API key", async (_, call) => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "wrong", maxRetries: 0 })
  await expect(call(client)).rejects.toMatchObject({ status: 401, code: "invalid_api_key" })
})

it("an unknown route under /v1/responses returns 404", async () => {
  const headers = { authorization: `Bearer ${KEY}` }
  const response = await fetch(`${gateway.url}/v1/responses/compact`, { method: "POST", headers })
  expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
    404,
    "not_found"
  ])
})
