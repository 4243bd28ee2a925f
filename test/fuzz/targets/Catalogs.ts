/**
 * The target of the catalog file. The parser must state a reason for every file that it refuses, and every provider,
 * route and price of a file that it accepts must be usable.
 */
import type { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import { Either, FastCheck } from "effect"
import { type FuzzTarget, must, pure } from "../Target.ts"
import { changedValue, jsonChanges } from "./JsonChanges.ts"

export type ParseCatalog = typeof parseCatalogFile

const check =
  (parse: ParseCatalog) =>
  (input: Buffer): void => {
    const json = jsonOf(input)
    if (json === undefined) return
    const parsed = parse(json)
    if (Either.isLeft(parsed)) {
      must(
        parsed.left.issues.length > 0 && parsed.left.issues.every((issue) => issue !== ""),
        "a refusal has no reason"
      )
      return
    }
    const { providers, models } = parsed.right
    const names = providers.map(({ name }) => name)
    must(new Set(names).size === names.length, "two providers have the same name")
    must(new Set(models.map(({ publicName }) => publicName)).size === models.length, "two models have the same name")
    for (const { baseUrl, timeouts, protocols } of providers) {
      must(URL.canParse(baseUrl) && new URL(baseUrl).hostname !== "", `the base URL cannot be called: ${baseUrl}`)
      must(!/[?#\s]/.test(new URL(baseUrl).href), `the base URL has a query: ${baseUrl}`)
      must(protocols.length > 0 && Object.values(timeouts).every((millis) => millis > 0), "a provider cannot be used")
    }
    for (const { routes, price, tiers } of models) {
      must(
        routes.every(({ provider }) => names.includes(provider)),
        "a route leads to no provider of the file"
      )
      must(
        Object.values(price).every((each) => each >= 0n),
        "a price is negative"
      )
      must(
        tiers.every(({ tierUsdCents, grantedTokens }) => tierUsdCents > 0n && grantedTokens > 0n),
        "a tier is empty"
      )
    }
  }

const jsonOf = (input: Buffer): unknown => {
  try {
    return JSON.parse(input.toString())
  } catch {
    return undefined
  }
}

const url = FastCheck.constantFrom(
  ...[
    "https://a.example/v1",
    "http://127.0.0.1:9/v1/",
    "http://localhost",
    "http://[::1]:1/v1",
    "https://[",
    "https://a:b"
  ],
  ...[
    "https://user:secret@a.example/v1",
    "http://a.example",
    "https://%zz/",
    "https:///v1",
    "https://a..b",
    "https://\u0000"
  ]
)
const provider = FastCheck.record({
  name: FastCheck.constantFrom("one", "two", "p"),
  base_url: url,
  api_key_env: FastCheck.constantFrom("KEY", "K_1", "key"),
  protocols: FastCheck.subarray(["chat", "messages", "responses", "images", "embeddings"])
})
const price = FastCheck.constantFrom(0, 1_000_000, 1_000_000_000)
const model = FastCheck.record(
  {
    public_name: FastCheck.constantFrom("m", "a/b", "é", "with space"),
    display_name: FastCheck.constant("M"),
    author: FastCheck.constant("Lab"),
    kind: FastCheck.constantFrom("text", "image", "embedding"),
    capabilities: FastCheck.subarray(["generate", "edit"]),
    price_usd_micro_per_million_tokens: FastCheck.record({
      input: price,
      cache_read: price,
      cache_write: price,
      output: price
    }),
    routes: FastCheck.array(
      FastCheck.record({
        provider: FastCheck.constantFrom("one", "two", "three"),
        upstream_model: FastCheck.constant("u")
      }),
      { maxLength: 2 }
    ),
    tiers: FastCheck.array(
      FastCheck.record({
        tier_usd_cents: FastCheck.constantFrom(100, 1, 0),
        granted_tokens: FastCheck.constantFrom(1, 1e15)
      }),
      { maxLength: 2 }
    )
  },
  { requiredKeys: ["public_name", "display_name", "author", "price_usd_micro_per_million_tokens", "routes"] }
)

export const catalogTarget = (parse: ParseCatalog): FuzzTarget => ({
  name: "catalog-files",
  grammar: FastCheck.tuple(
    FastCheck.record({
      providers: FastCheck.array(provider, { maxLength: 2 }),
      models: FastCheck.array(model, { maxLength: 2 })
    }),
    jsonChanges
  ).map(([file, changes]) => Buffer.from(JSON.stringify(changedValue(file, changes)) ?? "")),
  words: [
    '"base_url":"https://',
    '"allow_http":true,',
    '"hidden":true,',
    '"kind":"image",',
    "[::1]",
    ":99999",
    "@",
    "%"
  ],
  testInputs: 300,
  open: pure(check(parse))
})
