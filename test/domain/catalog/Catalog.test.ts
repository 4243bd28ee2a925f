import { type Catalog, callable, discoverable, orderCandidates } from "@tollgate/domain/catalog/Catalog"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import { type Model, ModelId, PriceId } from "@tollgate/domain/catalog/Model"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const provider = (name: string, over: object = {}) => ({
  name,
  base_url: "https://api.example.com/v1/",
  api_key_env: "EXAMPLE_KEY",
  protocols: ["chat"],
  ...over
})
const model = (public_name: string, over: object = {}) => ({
  public_name,
  display_name: public_name,
  author: "Author",
  price_usd_micro_per_million_tokens: { input: 1, cache_read: 1, cache_write: 1, output: 1 },
  routes: [{ provider: "a", upstream_model: "m" }],
  ...over
})
const file = (models: ReadonlyArray<object>, providers: ReadonlyArray<object> = [provider("a")]) => ({
  providers,
  models
})
const issuesOf = (json: unknown) => Either.match(parseCatalogFile(json), { onLeft: (e) => e.issues, onRight: () => [] })

const catalogOf = (json: unknown): Catalog => {
  const terms = Either.getOrThrow(parseCatalogFile(json))
  return {
    version: 1,
    providers: new Map(terms.providers.map((p) => [p.name, p])),
    models: new Map(
      terms.models.map((m) => [
        m.publicName,
        { ...m, id: ModelId(m.publicName), priceId: PriceId("p"), retired: false } satisfies Model
      ])
    )
  }
}

describe("a catalog file", () => {
  it("can contain two routes whose names differ only in the place of a separator", () => {
    const routes = [
      { provider: "a", upstream_model: "b / m" },
      { provider: "a / b", upstream_model: "m" }
    ]
    expect(issuesOf(file([model("x", { routes })], [provider("a"), provider("a / b")]))).toEqual([])
  })

  it("has default values for absent members", () => {
    const { providers, models } = Either.getOrThrow(parseCatalogFile(file([model("x")])))
    expect(providers[0]).toMatchObject({ baseUrl: "https://api.example.com/v1", auth: "bearer", maxConcurrency: 512 })
    expect(models[0]).toMatchObject({ kind: "text", hidden: false, routes: [{ priority: 1, weight: 1 }], tiers: [] })
  })

  it.each([
    ["an unknown member", file([model("x", { colour: "red" })]), "colour"],
    ["a model without a price", file([model("x", { price_usd_micro_per_million_tokens: undefined })]), "price"],
    [
      "a price that is not a whole number",
      file([
        model("x", { price_usd_micro_per_million_tokens: { input: 0.5, cache_read: 1, cache_write: 1, output: 1 } })
      ]),
      "an integer"
    ],
    [
      "a route to an unknown provider",
      file([model("x", { routes: [{ provider: "b", upstream_model: "m" }] })]),
      'no provider "b"'
    ],
    ["two models with one name", file([model("x"), model("x")]), "duplicate name"],
    [
      "a route twice",
      file([model("x", { routes: [1, 2].map((priority) => ({ provider: "a", upstream_model: "m", priority })) })]),
      "duplicate route a / m"
    ],
    [
      "unencrypted http to another machine",
      file([], [provider("a", { base_url: "http://api.example.com" })]),
      "unencrypted http"
    ],
    [
      "unencrypted http to a host name like a loopback address",
      file([], [provider("a", { base_url: "http://127.0.0.1.evil.com" })]),
      "unencrypted http"
    ],
    [
      "unencrypted http to another machine, with a user name like the name of this machine",
      file([], [provider("a", { base_url: "http://localhost:1@evil.com/v1" })]),
      "providers.0.base_url"
    ],
    [
      "a URL with a password, which would be stored but not sent",
      file([], [provider("a", { base_url: "https://user:password@api.example.com/v1" })]),
      "providers.0.base_url"
    ],
    [
      "two tiers with one price",
      file([model("x", { tiers: [1, 2].map((granted_tokens) => ({ tier_usd_cents: 5, granted_tokens })) })]),
      "two tiers"
    ],
    [
      "an embedding model with capabilities",
      file([model("x", { kind: "embedding", capabilities: ["edit"] })]),
      "only image"
    ],
    ["a model of an unknown kind", file([model("x", { kind: "video" })]), "kind"],
    ["a provider with an unknown protocol", file([], [provider("a", { protocols: ["telex"] })]), "protocols"],
    ["an image model without capabilities", file([model("x", { kind: "image" })]), "capabilities"],
    ["a max_output_tokens of 0", file([model("x", { max_output_tokens: 0 })]), "models.0.max_output_tokens"],
    [
      "a max_output_tokens above ten million",
      file([model("x", { max_output_tokens: 10_000_001 })]),
      "models.0.max_output_tokens"
    ],
    [
      "an image model with max_output_tokens",
      file([model("x", { kind: "image", capabilities: ["edit"], max_output_tokens: 1 })]),
      'models "x": only text models have max_output_tokens'
    ],
    [
      "an image model with hosted_tools",
      file([model("x", { kind: "image", capabilities: ["edit"], hosted_tools: ["web_search"] })]),
      'models "x": only text models have hosted_tools'
    ],
    ["a hosted tool with an invalid name", file([model("x", { hosted_tools: ["Web Search"] })]), "hosted_tools"],
    ["a name with a NUL character", file([model("x", { display_name: "a\0b" })]), "models.0.display_name: no NUL"],
    ["a public name with half of a surrogate pair", file([model("\ud800")]), "models.0.public_name: no unpaired"],
    ["a URL with a NUL character", file([], [provider("a", { base_url: "https://a.b/\0" })]), "providers.0.base_url"],
    [
      "an embedding model with max_output_tokens",
      file([model("x", { kind: "embedding", max_output_tokens: 1 })]),
      'models "x": only text models have max_output_tokens'
    ]
  ])("is refused for %s", (_, json, word) => {
    expect(issuesOf(json).join("\n")).toContain(word)
  })

  it("is refused with one line for each wrong member", () => {
    const wrong = file(
      [
        model("x", { kind: "txt", hidden: "yes", capabilities: ["draw"], routes: "all" }),
        model("y", { price_usd_micro_per_million_tokens: null })
      ],
      [provider("a", { auth: "basic", protocols: ["chatt"] })]
    )
    expect(issuesOf(wrong)).toEqual([
      'providers.0.auth: Expected "bearer" or "x-api-key", actual "basic"',
      'providers.0.protocols.0: Expected "chat" or "messages" or "responses" or "images" or "embeddings", actual "chatt"',
      'models.0.kind: Expected "text" or "image" or "embedding", actual "txt"',
      'models.0.hidden: Expected boolean, actual "yes"',
      'models.0.capabilities.0: Expected "generate" or "edit", actual "draw"',
      'models.0.routes: Expected an array, actual "all"',
      "models.1.price_usd_micro_per_million_tokens: Expected an object, actual null"
    ])
    const route = (upstream_model: string) => ({ provider: "b", upstream_model })
    expect(issuesOf(file([model("x", { routes: [route("1"), route("2")] })]))).toEqual([
      'models "x": no provider "b" in this file'
    ])
    expect(issuesOf([])).toEqual(["the file: Expected an object, actual []"])
    expect(issuesOf({ providers: [1], models: [null] })).toEqual([
      "providers.0: Expected an object, actual 1",
      "models.0: Expected an object, actual null"
    ])
  })

  it.each([1, 10_000_000])("accepts max_output_tokens of %i for a text model", (max_output_tokens) => {
    const { models } = Either.getOrThrow(parseCatalogFile(file([model("x", { max_output_tokens })])))
    expect(models[0]?.maxOutputTokens).toBe(max_output_tokens)
  })

  it("counts retired models in the path of a wrong member", () => {
    const models = [model("x", { retired: true }), model("y", { kind: "txt" }), model("z", { retired: true })]
    expect(issuesOf(file(models))).toEqual([expect.stringMatching(/^models\.1\.kind: /)])
  })

  it("accepts unencrypted http to this machine", () => {
    expect(issuesOf(file([], [provider("a", { base_url: "http://127.0.0.1:9/v1" })]))).toEqual([])
  })

  it("accepts unencrypted http to another machine with allow_http", () => {
    expect(issuesOf(file([], [provider("a", { base_url: "http://10.0.0.1/v1", allow_http: true })]))).toEqual([])
  })

  property("is accepted or refused without an exception", [FastCheck.anything()], (json) =>
    Either.isEither(parseCatalogFile(json))
  )
})

describe("a model", () => {
  const catalog = catalogOf(
    file(
      [
        model("plain"),
        model("hidden", { hidden: true }),
        model("picture", { kind: "image", capabilities: ["generate"] }),
        model("vectors", { kind: "embedding" })
      ],
      [provider("a", { protocols: ["chat", "images", "embeddings"] })]
    )
  )

  it("can be called if it has a route for the protocol", () => {
    expect(Either.isRight(callable(catalog, "plain", "chat"))).toBe(true)
    expect(Either.isRight(callable(catalog, "picture", "images"))).toBe(true)
    expect(Either.isRight(callable(catalog, "vectors", "embeddings"))).toBe(true)
  })

  it.each([
    ["an unknown model", "unknown", "chat"],
    ["a hidden model", "hidden", "chat"],
    ["a model without a route for the protocol", "plain", "messages"],
    ["an image model with a text protocol", "picture", "chat"],
    ["an embedding model with a text protocol", "vectors", "chat"],
    ["a text model with the embeddings protocol", "plain", "embeddings"]
  ] as const)("cannot be called: %s", (_, name, protocol) => {
    expect(Either.isLeft(callable(catalog, name, protocol))).toBe(true)
  })

  it("is listed by descending discovery rank, then by name without regard to case", () => {
    const names = ["b", "Zed", "a", "A"].map((name) => model(name, { discovery_rank: 1 }))
    const ranked = catalogOf(file([...names, model("c", { discovery_rank: 9 })]))
    expect(discoverable(ranked).map((m) => m.publicName)).toEqual(["c", "A", "a", "b", "Zed"])
  })

  it("is not listed if it has no route", () => {
    const routeless = model("routeless", { routes: [] })
    expect(discoverable(catalogOf(file([model("plain"), routeless]))).map((m) => m.publicName)).toEqual(["plain"])
  })
})

describe("the order of candidates", () => {
  const weighted = (weights: ReadonlyArray<number>, priorities: ReadonlyArray<number>) => {
    const routes = weights.map((weight, i) => ({
      provider: "a",
      upstream_model: `m${i}`,
      weight,
      priority: priorities[i] ?? 1
    }))
    return Either.getOrThrow(callable(catalogOf(file([model("x", { routes })])), "x", "chat")).candidates
  }
  const draws = FastCheck.array(FastCheck.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 3, maxLength: 3 })

  property("follows the priorities for any random numbers", [draws], (drawn) => {
    const order = orderCandidates(weighted([1, 100, 1], [2, 2, 1]), drawn).map((c) => c.route.upstreamModel)
    return order[0] === "m2" && order.length === 3 && new Set(order).size === 3
  })

  it("is random by weight within one priority", () => {
    const candidates = weighted([1, 3], [1, 1])
    const steps = Array.from({ length: 100 }, (_, i) => (i + 0.5) / 100)
    const first = steps.flatMap((a) => steps.map((b) => orderCandidates(candidates, [a, b])[0]?.route.upstreamModel))
    const share = first.filter((name) => name === "m1").length / first.length
    expect(share).toBeCloseTo(0.75, 1)
  })
})
