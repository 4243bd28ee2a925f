/**
 * Tests the catalog in the operator API (docs/reference/operator.md#catalog).
 */
import { Effect } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { documentOf, tollgate, useDatabase } from "../cli/CommandLine.ts"
import { type OperatorCalls, operatorCalls } from "../support/OperatorCalls.ts"
import { document } from "../support/openapi/Document.ts"
import { pathsIn, refusalIn } from "../support/ResellerRefusals.ts"
import { TestProgramme } from "../support/TestProgramme.ts"

interface Catalog {
  readonly version: number
  readonly models: ReadonlyArray<Readonly<Record<string, unknown>>>
}

let programme: TestProgramme
let ani: OperatorCalls
beforeAll(async () => {
  programme = await TestProgramme.start()
  useDatabase(programme.settings.database.url)
  ani = await operatorCalls(programme, "ani")
})
afterAll(() => programme.close())

const shown = async () => (await ani.get("/catalog")).body as unknown as Catalog

it("the operator API shows the catalog without the keys of providers", async () => {
  const printed = await Effect.runPromise(tollgate("catalog", "show", "--json"))
  const { text } = await ani.get("/catalog")
  expect(JSON.parse(text)).toEqual(documentOf(printed))
  expect(text).toContain('"api_key_env":"PROVIDER_KEY"')
  expect(text).not.toContain("sk-provider")
})

it("a catalog is changed when it is applied, but not by a preview", async () => {
  const before = await shown()
  const [first, ...rest] = before.models
  const catalog = { ...before, models: [{ ...first, display_name: "A new name" }, ...rest] }
  const name = first?.public_name
  const change = {
    added: [],
    changed: [name],
    retired: [],
    members: [
      { name, member: "display_name", before: expect.any(String), after: expect.stringContaining("A new name") }
    ]
  }
  const preview = await ani.post("/catalog/preview", { catalog })
  expect([preview.status, preview.body]).toEqual([200, { ...change, version: before.version }])
  expect(await shown()).toEqual(before)
  const applied = await ani.post("/catalog/apply", { catalog, reason: "ticket 9" })
  expect([applied.status, applied.body]).toEqual([200, { ...change, version: before.version + 1 }])
  expect((await shown()).models.find(({ public_name }) => public_name === name)?.display_name).toBe("A new name")
  const [entry] = await programme.query("SELECT actor, action, reason FROM audit_log ORDER BY seq DESC LIMIT 1")
  expect(entry).toEqual({ actor: "ani", action: "catalog.apply", reason: "ticket 9" })
  const again = await ani.post("/catalog/apply", { catalog })
  expect(again.body).toMatchObject({ changed: [], version: before.version + 1 })
})

it("a changed price has the name that the OpenAPI document shows", async () => {
  const before = await shown()
  const [first, ...rest] = before.models
  const prices = first?.price_usd_micro_per_million_tokens as Readonly<Record<string, number>>
  const price_usd_micro_per_million_tokens = { ...prices, output: (prices.output ?? 0) + 1 }
  const catalog = { ...before, models: [{ ...first, price_usd_micro_per_million_tokens }, ...rest] }
  const { body } = await ani.post("/catalog/preview", { catalog })
  const [example] = JSON.stringify(document.components.schemas.CatalogChange).match(/[\w.]*price[\w.]*\.output/) ?? []
  expect(body.members).toMatchObject([{ member: example }])
})

it("a catalog file in which a member occurs twice in one object is refused", async () => {
  const before = await shown()
  const catalog = JSON.stringify(before).replace('"display_name":', '"display_name":"First",\n"display_name":')
  for (const path of ["/catalog/preview", "/catalog/apply"]) {
    const refused = await ani.post(path, `{"catalog":${catalog}}`)
    expect(refusalIn(refused)).toBe("422 catalog_file_invalid")
    expect(refused.text).toContain('line 2, column 1 of the body: the member \\"display_name\\" occurs twice')
    expect(refusalIn(await ani.post(path, `{"catalog":${catalog}`))).toBe("422 validation_error")
  }
  expect(await shown()).toEqual(before)
})

it("a catalog with errors is refused with 422 catalog_file_invalid", async () => {
  const before = await shown()
  for (const path of ["/catalog/preview", "/catalog/apply"]) {
    const refused = await ani.post(path, { catalog: { providers: [], models: [{ public_name: 7 }] } })
    expect(refusalIn(refused)).toBe("422 catalog_file_invalid")
    expect(pathsIn(refused).length).toBeGreaterThan(1)
    expect(refusalIn(await ani.post(path, { catalog: before, reason: "x".repeat(5 * 1024 * 1024) }))).toBe(
      "413 request_too_large"
    )
    expect(refusalIn(await ani.post(path, { catalog: before, reason: "x".repeat(70_000) }))).toBe(
      "422 validation_error"
    )
  }
  expect(await shown()).toEqual(before)
})
