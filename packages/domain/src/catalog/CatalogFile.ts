/**
 * Parses the catalog file, in which an operator describes providers, models, prices, routes and tiers.
 *
 * For example, the parser rejects unknown members, a route to a provider that is not in the file, a model without a
 * price, and two models with the same name. It also rejects unencrypted HTTP to another machine, unless `allow_http` is
 * set.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { MAX_HOSTED_TOOLS } from "../inference/HostedTools.ts"
import { hasCapabilities, kindsOfModels, protocols } from "../inference/InferenceRequest.ts"
import { PicoPerToken } from "../ledger/Price.ts"
import * as Tokens from "../money/Tokens.ts"
import { UsdCents } from "../money/UsdCents.ts"
import { noHalfSurrogate, noNul } from "../validation/Text.ts"
import { issuesOf } from "./CatalogFileIssues.ts"
import type { ModelTerms, TierTerms } from "./Model.ts"
import { type Provider, ProviderName } from "./Provider.ts"

const Text = Schema.String.pipe(Schema.filter(noNul), Schema.filter(noHalfSurrogate))
const Name = Text.pipe(Schema.minLength(1), Schema.maxLength(200))
const Millis = Schema.Int.pipe(Schema.between(1, 86_400_000))
/** A price in micro-USD per million tokens. The same number is the price in pico-USD per token. */
const PriceMember = Schema.Int.pipe(Schema.between(0, 1_000_000_000))
/** The largest accepted `max_output_tokens`. A reported token count above this number is not accepted either. */
const MAX_OUTPUT_TOKENS = 10_000_000

const TimeoutsMember = Schema.Struct({
  first_byte_ms: Schema.optionalWith(Millis, { default: () => 60_000 }),
  idle_ms: Schema.optionalWith(Millis, { default: () => 120_000 }),
  total_ms: Schema.optionalWith(Millis, { default: () => 1_800_000 })
})
const BreakerMember = Schema.Struct({
  failures: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 10_000)), { default: () => 20 }),
  window_ms: Schema.optionalWith(Millis, { default: () => 30_000 }),
  open_ms: Schema.optionalWith(Millis, { default: () => 15_000 })
})

const ProviderMember = Schema.Struct({
  name: Name,
  base_url: Text.pipe(
    // A user name and a password would be a second, stored credential, which no request sends.
    Schema.pattern(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/),
    Schema.filter((url) => URL.canParse(url) || "a URL with a valid host and port")
  ),
  api_key_env: Schema.String.pipe(Schema.pattern(/^[A-Z_][A-Z0-9_]*$/)),
  auth: Schema.optionalWith(Schema.Literal("bearer", "x-api-key"), { default: () => "bearer" as const }),
  protocols: Schema.NonEmptyArray(Schema.Literal(...protocols)),
  max_concurrency: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 65_536)), { default: () => 512 }),
  timeouts: Schema.optionalWith(TimeoutsMember, { default: () => TimeoutsMember.make({}) }),
  breaker: Schema.optionalWith(BreakerMember, { default: () => BreakerMember.make({}) }),
  allow_http: Schema.optionalWith(Schema.Boolean, { default: () => false })
})

const ModelMember = Schema.Struct({
  public_name: Text.pipe(Schema.pattern(/^[^\s"\\\p{Cc}]{1,200}$/u)),
  display_name: Name,
  author: Name,
  kind: Schema.optionalWith(Schema.Literal(...kindsOfModels), { default: () => "text" as const }),
  discovery_rank: Schema.optionalWith(Schema.Int.pipe(Schema.between(-1_000_000, 1_000_000)), { default: () => 0 }),
  hidden: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  capabilities: Schema.optionalWith(Schema.Array(Schema.Literal("generate", "edit")), { default: () => [] }),
  max_output_tokens: Schema.optional(Schema.Int.pipe(Schema.between(1, MAX_OUTPUT_TOKENS))),
  hosted_tools: Schema.optionalWith(
    Schema.Array(Schema.String.pipe(Schema.pattern(/^[a-z0-9_:.-]{1,64}$/))).pipe(Schema.maxItems(MAX_HOSTED_TOOLS)),
    { default: () => [] }
  ),
  price_usd_micro_per_million_tokens: Schema.Struct({
    input: PriceMember,
    cache_read: PriceMember,
    cache_write: PriceMember,
    output: PriceMember
  }),
  routes: Schema.Array(
    Schema.Struct({
      provider: Name,
      upstream_model: Name,
      priority: Schema.optionalWith(Schema.Int.pipe(Schema.between(0, 1_000)), { default: () => 1 }),
      weight: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 1_000_000)), { default: () => 1 })
    })
  ),
  tiers: Schema.optionalWith(
    Schema.Array(
      Schema.Struct({
        // `tollgate catalog show --json` prints this member. In a catalog file it has no effect.
        plan_tier_id: Schema.optional(Schema.String),
        tier_usd_cents: Schema.Int.pipe(Schema.between(1, 100_000_000)),
        granted_tokens: Schema.Int.pipe(Schema.between(1, 1_000_000_000_000_000)),
        for_sale: Schema.optionalWith(Schema.Boolean, { default: () => true })
      })
    ),
    { default: () => [] }
  )
})

/**
 * The members that `tollgate catalog show --json` prints for a model in addition to those of a catalog file. A catalog
 * file can contain them, so that an operator can edit the output of the command and apply it. `model_id` has no effect.
 * A model with `retired: true` counts as missing in the file (`withoutRetired`).
 */
const ShownModel = { model_id: Schema.optional(Schema.String), retired: Schema.optional(Schema.Boolean) }

const FileSchema = Schema.Struct({
  version: Schema.optional(Schema.Int),
  providers: Schema.Array(ProviderMember),
  models: Schema.Array(Schema.Struct({ ...ModelMember.fields, ...ShownModel }))
})

/** The content of a catalog file as domain types. */
export interface CatalogTerms {
  readonly providers: ReadonlyArray<Provider>
  readonly models: ReadonlyArray<ModelTerms & { readonly tiers: ReadonlyArray<TierTerms> }>
}

/** The catalog file is invalid. Each issue names a part of the file and states why this part is invalid. */
export class CatalogFileInvalid extends Schema.TaggedError<CatalogFileInvalid>()("CatalogFileInvalid", {
  issues: Schema.Array(Schema.String)
}) {}

const decode = Schema.decodeUnknownEither(FileSchema, { errors: "all", onExcessProperty: "error" })

export const parseCatalogFile = (json: unknown): Either.Either<CatalogTerms, CatalogFileInvalid> => {
  const { content, places } = withoutRetired(json)
  return decode(content).pipe(
    Either.mapLeft(
      (error) => new CatalogFileInvalid({ issues: issuesOf(error).map((issue) => inFile(issue, places)) })
    ),
    Either.flatMap((file) => {
      const issues = contradictions(file)
      return issues.length > 0 ? Either.left(new CatalogFileInvalid({ issues })) : Either.right(toTerms(file))
    })
  )
}

/** The content of a file without its retired models, and the places of the other models in the file. */
interface WithoutRetired {
  readonly content: unknown
  readonly places: ReadonlyArray<number>
}

/**
 * Removes the models with `retired: true`, which `tollgate catalog show --json` prints too. A stored model that is
 * missing in a catalog file becomes retired, or stays retired. The routes of a removed model are not checked, because
 * they may name retired providers, which are not in the file.
 */
const withoutRetired = (json: unknown): WithoutRetired => {
  if (typeof json !== "object" || json === null || !("models" in json) || !Array.isArray(json.models)) {
    return { content: json, places: [] }
  }
  const isRetired = (model: unknown) =>
    typeof model === "object" && model !== null && "retired" in model && model.retired === true
  const all: ReadonlyArray<unknown> = json.models
  return {
    content: { ...json, models: all.filter((model) => !isRetired(model)) },
    places: all.flatMap((model, place) => (isRetired(model) ? [] : [place]))
  }
}

/**
 * An issue states the index of a model in the list without retired models. Replaces this index by the index in the
 * file.
 */
const inFile = (issue: string, places: ReadonlyArray<number>): string =>
  issue.replace(/^models\.(\d+)/, (_, place: string) => `models.${places[+place]}`)

type File = typeof FileSchema.Type

const contradictions = (file: File): ReadonlyArray<string> => {
  const issues: Array<string> = []
  const providers = new Set(file.providers.map(({ name }) => name))
  for (const name of repeated(file.providers.map(({ name }) => name)))
    issues.push(`providers: duplicate name "${name}"`)
  for (const name of repeated(file.models.map((model) => model.public_name))) {
    issues.push(`models: duplicate name "${name}"`)
  }
  for (const { name, base_url, allow_http } of file.providers) {
    if (!allow_http && needsAllowHttp(base_url)) {
      issues.push(
        `providers "${name}": unencrypted http is accepted only for a host on this machine; use https or set "allow_http": true`
      )
    }
  }
  for (const model of file.models) {
    const at = `models "${model.public_name}"`
    for (const provider of new Set(model.routes.map((route) => route.provider))) {
      if (!providers.has(provider)) issues.push(`${at}: no provider "${provider}" in this file`)
    }
    // The key is JSON, because a name can contain any separator.
    for (const key of repeated(model.routes.map((route) => JSON.stringify([route.provider, route.upstream_model])))) {
      const [provider, upstreamModel]: ReadonlyArray<string> = JSON.parse(key)
      issues.push(`${at}: duplicate route ${provider} / ${upstreamModel}`)
    }
    for (const cents of repeated(model.tiers.map((tier) => String(tier.tier_usd_cents)))) {
      issues.push(`${at}: two tiers with the price ${cents} cents`)
    }
    if (!hasCapabilities(model.kind) && model.capabilities.length > 0) {
      issues.push(`${at}: only image models have capabilities`)
    }
    if (hasCapabilities(model.kind) && model.capabilities.length === 0) {
      issues.push(`${at}: an image model needs capabilities ("generate", "edit")`)
    }
    if (model.kind !== "text" && model.max_output_tokens !== undefined) {
      issues.push(`${at}: only text models have max_output_tokens`)
    }
    if (model.kind !== "text" && model.hosted_tools.length > 0) {
      issues.push(`${at}: only text models have hosted_tools`)
    }
  }
  return [...new Set(issues)]
}

const repeated = (names: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(names.filter((name, i) => names.indexOf(name) !== i))
]

const THIS_MACHINE = /^(127(\.\d+){3}|localhost|\[::1\])$/

/**
 * Returns true if the URL has unencrypted HTTP and a host other than `localhost`, `127.*` and `[::1]`. The file must
 * then set `allow_http`. The URL is parsed, because a text before `@` is not the host.
 */
export const needsAllowHttp = (url: string): boolean =>
  url.startsWith("http://") && !(URL.canParse(url) && THIS_MACHINE.test(new URL(url).hostname))

const toTerms = (file: File): CatalogTerms => ({
  providers: file.providers.map((provider) => ({
    name: ProviderName(provider.name),
    baseUrl: provider.base_url.replace(/\/+$/, ""),
    apiKeyEnv: provider.api_key_env,
    auth: provider.auth,
    protocols: protocols.filter((protocol) => provider.protocols.includes(protocol)),
    maxConcurrency: provider.max_concurrency,
    timeouts: {
      firstByteMillis: provider.timeouts.first_byte_ms,
      idleMillis: provider.timeouts.idle_ms,
      totalMillis: provider.timeouts.total_ms
    },
    breaker: {
      failures: provider.breaker.failures,
      windowMillis: provider.breaker.window_ms,
      openMillis: provider.breaker.open_ms
    }
  })),
  models: file.models.map((model) => ({
    publicName: model.public_name,
    displayName: model.display_name,
    author: model.author,
    kind: model.kind,
    discoveryRank: model.discovery_rank,
    hidden: model.hidden,
    capabilities: model.capabilities,
    maxOutputTokens: model.max_output_tokens,
    hostedTools: [...new Set(model.hosted_tools)],
    price: {
      input: PicoPerToken(BigInt(model.price_usd_micro_per_million_tokens.input)),
      cacheWrite: PicoPerToken(BigInt(model.price_usd_micro_per_million_tokens.cache_write)),
      cacheRead: PicoPerToken(BigInt(model.price_usd_micro_per_million_tokens.cache_read)),
      output: PicoPerToken(BigInt(model.price_usd_micro_per_million_tokens.output))
    },
    routes: model.routes.map((route) => ({
      provider: ProviderName(route.provider),
      upstreamModel: route.upstream_model,
      priority: route.priority,
      weight: route.weight
    })),
    tiers: model.tiers.map((tier) => ({
      tierUsdCents: UsdCents(BigInt(tier.tier_usd_cents)),
      grantedTokens: Tokens.Tokens(BigInt(tier.granted_tokens)),
      forSale: tier.for_sale
    }))
  }))
})
