import { afterEach, beforeEach, describe, expect, it } from "vitest"
import {
  catalogOf,
  closeGateways,
  noResources,
  startGateway,
  type TestGateway
} from "../inference/relay/TestGateway.ts"

let gateway: TestGateway
beforeEach(async () => {
  gateway = await startGateway({ catalog: catalogOf({}) })
})
afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

interface Operation {
  readonly summary?: string
  readonly security: ReadonlyArray<object>
  readonly requestBody?: { readonly content: object }
  readonly responses: { readonly [status: string]: { readonly description: string; readonly content?: object } }
}
interface Specification {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly securitySchemes: object }
}
const specification = async (): Promise<Specification> =>
  (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Specification

describe("the OpenAPI document", () => {
  it("lists the routes for inference, usage and rankings", async () => {
    const { paths } = await specification()
    const excepted = /^\/(api\/reseller|api\/operator|webhooks|qr)\//
    expect(
      Object.keys(paths)
        .filter((path) => !excepted.test(path))
        .sort()
    ).toEqual([
      "/",
      "/api/rankings",
      "/healthz",
      "/readyz",
      "/v1/balance",
      "/v1/chat/completions",
      "/v1/embeddings",
      "/v1/images/edits",
      "/v1/images/generations",
      "/v1/messages",
      "/v1/messages/count_tokens",
      "/v1/models",
      "/v1/models/{model}",
      "/v1/responses",
      "/v1/usage",
      "/v1/usage.csv",
      "/v1/usage/daily"
    ])
    for (const operations of Object.values(paths)) {
      for (const { summary } of Object.values(operations)) expect(summary).toBeTruthy()
    }
  })

  it.each(["/v1/chat/completions", "/v1/messages", "/v1/responses"])(
    "documents the response types and statuses of %s",
    async (path) => {
      const responses = (await specification()).paths[path]?.post?.responses ?? {}
      expect(Object.keys(responses["200"]?.content ?? {})).toEqual(["application/json", "text/event-stream"])
      expect(Object.keys(responses)).toEqual(["200", "400", "401", "402", "404", "413", "429", "500", "502", "503"])
      expect(responses["503"]?.description).toMatch(/`overloaded`.*`circuit_open`/s)
    }
  )

  it("documents no event stream for /v1/embeddings", async () => {
    const responses = (await specification()).paths["/v1/embeddings"]?.post?.responses ?? {}
    expect(Object.keys(responses["200"]?.content ?? {})).toEqual(["application/json"])
    expect(Object.keys(responses)).toEqual(["200", "400", "401", "402", "404", "413", "429", "500", "502", "503"])
  })

  it.each([
    ["/v1/images/generations", "application/json"],
    ["/v1/images/edits", "multipart/form-data"]
  ])("documents the request body and the statuses of %s", async (path, type) => {
    const operation = (await specification()).paths[path]?.post
    const responses = operation?.responses ?? {}
    expect(Object.keys(operation?.requestBody?.content ?? {})).toEqual([type])
    expect(Object.keys(responses)).toEqual([
      "200",
      "400",
      "401",
      "402",
      "404",
      "408",
      "409",
      "413",
      "429",
      "500",
      "502",
      "503"
    ])
    expect(responses["400"]?.description).toMatch(
      /`invalid_request`.*`unsupported_parameter`.*`unsupported_endpoint`.*`content_policy_violation`/s
    )
    expect(responses["502"]?.description).toMatch(/`upstream_error`.*`image_too_large_output`/s)
  })

  it("declares both headers for the API key", async () => {
    const { paths, components } = await specification()
    expect(Object.keys(components.securitySchemes)).toEqual(["apiKey", "xApiKey", "resellerToken", "operatorToken"])
    expect(paths["/v1/models"]?.get?.security).toEqual([{ apiKey: [] }, { xApiKey: [] }])
    expect(paths["/healthz"]?.get?.security).toEqual([])
  })

  it("allows unknown members of a chat request", async () => {
    const text = JSON.stringify(await specification())
    expect(JSON.parse(text).components.schemas.ChatCompletionRequest.additionalProperties).not.toBe(false)
  })
})
