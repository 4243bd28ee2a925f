import { OpenApi } from "@effect/platform"
import { GatewayApi } from "@tollgate/adapters-http/server/GatewayApi"
import { describe, expect, it } from "vitest"

interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly description?: string
  readonly examples?: ReadonlyArray<unknown>
  readonly enum?: ReadonlyArray<unknown>
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
}
interface Content {
  readonly schema: JsonSchema
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}
interface Operation {
  readonly security: ReadonlyArray<object>
  readonly parameters: ReadonlyArray<{ readonly name: string; readonly required: boolean; readonly schema: JsonSchema }>
  readonly responses: Readonly<
    Record<
      string,
      { readonly description: string; readonly headers?: object; readonly content: Record<string, Content> }
    >
  >
}

// The document is encoded and parsed as JSON, so that the tests see it as clients do.
const { paths, components } = JSON.parse(JSON.stringify(OpenApi.fromApi(GatewayApi))) as {
  readonly paths: Readonly<Record<string, { readonly get?: Operation }>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}
const operation = paths["/api/rankings"]?.get as Operation

const resolved = (schema: JsonSchema): JsonSchema => ({
  ...components.schemas[schema.$ref?.split("/").at(-1) ?? ""],
  ...schema
})

describe("the OpenAPI document of the rankings", () => {
  it("has both parameters with their values and defaults", () => {
    expect(operation.security).toEqual([])
    expect(
      operation.parameters.map(({ name, required, schema }) => [name, required, schema.enum, schema.default])
    ).toEqual([
      ["window", false, ["day", "week", "month", "all"], "week"],
      ["modality", false, ["text"], "text"]
    ])
  })

  it("lists the statuses and the error codes", () => {
    expect(Object.keys(operation.responses)).toEqual(["200", "304", "400", "404", "500", "503"])
    expect(Object.keys(operation.responses["200"]?.headers ?? {})).toContain("cache-control")
    for (const [status, code] of [
      ["400", "invalid_request"],
      ["404", "not_found"],
      ["500", "internal_error"]
    ] as const) {
      const { description, content } = operation.responses[status] ?? { description: "", content: {} }
      expect(description).toContain(`\`${code}\``)
      const { schema, examples } = content["application/json"] ?? { schema: {} }
      expect(schema).toHaveProperty("allOf", expect.arrayContaining([{ $ref: "#/components/schemas/ApiError" }]))
      expect(examples?.[code]?.value).toMatchObject({ error: { code, message: expect.any(String) } })
    }
  })

  it("describes every member of a response", () => {
    const found: Array<string> = []
    const lacking: Array<string> = []
    const visit = (where: string, given: JsonSchema) => {
      const schema = resolved(given)
      const inside = schema.items === undefined ? undefined : resolved(schema.items)
      for (const [name, member] of Object.entries(inside?.properties ?? schema.properties ?? {})) {
        const path = where === "" ? name : `${where}.${name}`
        found.push(path)
        const { description, examples, enum: values, properties, items } = resolved(member)
        if (description === undefined) lacking.push(`${path}: description`)
        const shown = examples !== undefined || values?.length === 1 || properties !== undefined || items !== undefined
        if (!shown) lacking.push(`${path}: example`)
        visit(path, member)
      }
    }
    visit("", operation.responses["200"]?.content["application/json"]?.schema ?? {})
    expect(lacking).toEqual([])
    expect(found).toEqual([
      "schema_version",
      "generated_at",
      "window",
      "modality",
      "range",
      "range.from",
      "range.to",
      "range.previous_from",
      "range.data_since",
      "totals",
      "totals.tokens",
      "totals.previous_tokens",
      "leaderboard",
      "leaderboard.rank",
      "leaderboard.public_name",
      "leaderboard.display_name",
      "leaderboard.author",
      "leaderboard.listed",
      "leaderboard.tokens",
      "leaderboard.previous_tokens",
      "leaderboard.change_pct",
      "leaderboard.is_new",
      "other",
      "other.tokens",
      "series",
      "series.bucket",
      "series.keys",
      "series.points",
      "series.points.start",
      "series.points.partial",
      "series.points.values",
      "series.points.other",
      "authors",
      "authors.author",
      "authors.tokens",
      "authors.share_bp",
      "trending",
      "trending.public_name",
      "trending.display_name",
      "trending.author",
      "trending.tokens",
      "trending.change_pct",
      "trending.is_new",
      "fastest",
      "fastest.public_name",
      "fastest.display_name",
      "fastest.author",
      "fastest.tps_p50",
      "fastest.ttft_p50_ms",
      "fastest.samples_bucket"
    ])
  })
})
