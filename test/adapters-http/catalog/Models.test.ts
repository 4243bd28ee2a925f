import type { Model } from "@tollgate/domain/catalog/Model"
import { afterEach, expect, it } from "vitest"
import { aModel, catalogOf, closeGateways, KEY, noResources, startGateway } from "../inference/relay/TestGateway.ts"

afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

const startWith = async (...models: ReadonlyArray<Partial<Model>>) => {
  const served = catalogOf({})
  const routes = served.models.get("m")?.routes ?? []
  const catalog = {
    ...served,
    models: new Map(models.map((parts) => [parts.publicName ?? "m", aModel({ routes, ...parts })]))
  }
  const gateway = await startGateway({ catalog })
  return async (path: string, key = KEY) => {
    const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
    return { status: response.status, body: await response.json() }
  }
}

it("the list of models contains the callable models by discovery rank and name", async () => {
  const get = await startWith(
    { publicName: "zeta", discoveryRank: 5 },
    { publicName: "beta" },
    { publicName: "alpha" },
    { publicName: "secret", hidden: true },
    { publicName: "old", retired: true },
    { publicName: "unserved", routes: [] }
  )
  expect(await get("/v1/models?limit=1000")).toEqual({
    status: 200,
    body: {
      object: "list",
      data: [
        { id: "zeta", object: "model" },
        { id: "alpha", object: "model" },
        { id: "beta", object: "model" }
      ]
    }
  })
})

it("the HTTP route for one model accepts a name with an escaped or unescaped slash", async () => {
  const longest = `lab/${"ü".repeat(196)}`
  const get = await startWith({ publicName: "lab/large model" }, { publicName: longest })
  const found = { status: 200, body: { id: "lab/large model", object: "model" } }
  expect(await get("/v1/models/lab%2Flarge%20model")).toEqual(found)
  expect(await get("/v1/models/lab/large%20model")).toEqual(found)
  expect(await get("/v1/models/lab/large%20model/")).toEqual(found)
  expect((await get(`/v1/models/${encodeURIComponent(longest)}`)).status).toBe(200)
})

it.each([
  ["an unknown model", "/v1/models/unknown"],
  ["a hidden model", "/v1/models/secret"],
  ["a retired model", "/v1/models/old"],
  ["a name that every JavaScript object has as a property", "/v1/models/constructor"]
])("the HTTP route for one model returns 404 for %s", async (_, path) => {
  const get = await startWith({ publicName: "secret", hidden: true }, { publicName: "old", retired: true })
  expect(await get(path)).toMatchObject({ status: 404, body: { type: "error", error: { code: "model_not_found" } } })
})

it("the HTTP routes of the models require a valid API key", async () => {
  const get = await startWith()
  for (const path of ["/v1/models", "/v1/models/m", "/v1/models/a/b"]) {
    expect(await get(path, "wrong")).toMatchObject({ status: 401, body: { error: { code: "invalid_api_key" } } })
  }
})
