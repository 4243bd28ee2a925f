/**
 * Defines the JSON schema of the stored catalog (the result of `catalogDocument`) and of its changes.
 */
import type { CatalogChange } from "@tollgate/application/catalog/Catalogs"
import * as Schema from "effect/Schema"
import { integer, text, uuid } from "../openapi/Fields.ts"

const names = (description: string) => Schema.Array(Schema.String).annotations({ description })
const flag = (description: string) => Schema.Boolean.annotations({ description })

const ProviderBody = Schema.Struct({
  name: text("The name of the provider.", "openai"),
  base_url: text("The base URL of the provider.", "https://api.openai.com/v1"),
  api_key_env: text("The name of the environment variable that contains the API key.", "OPENAI_API_KEY"),
  auth: Schema.Literal("bearer", "x-api-key").annotations({ description: "The header that contains the API key." }),
  protocols: names("The protocols of the provider."),
  allow_http: Schema.optional(
    flag("True if the base URL begins with `http://` and is on another machine; absent otherwise.")
  ),
  max_concurrency: integer("The maximum number of concurrent requests of each node.", 100),
  timeouts: Schema.Struct({
    first_byte_ms: integer("Milliseconds until the first byte of a response.", 60_000),
    idle_ms: integer("Milliseconds between two parts of a response.", 60_000),
    total_ms: integer("Milliseconds until the end of a response.", 600_000)
  }),
  breaker: Schema.Struct({
    failures: integer("The number of failures that opens the circuit breaker.", 5),
    window_ms: integer("Milliseconds in which failures are counted.", 10_000),
    open_ms: integer("Milliseconds until a probe request.", 5_000)
  })
}).annotations({ identifier: "CatalogProvider" })

const PRICE = "in micro-USD per million tokens"

const ModelBody = Schema.Struct({
  model_id: uuid("The model's id.", "019a9f0e-2222-7d1a-9a41-6f1f0d7b2c11"),
  public_name: text("The public name.", "demo-chat"),
  display_name: text("The display name.", "GPT-5 mini"),
  author: text("The author of the model.", "OpenAI"),
  kind: Schema.Literal("text", "image", "embedding").annotations({ description: "The kind of the model." }),
  discovery_rank: integer("The place of the model in lists; a higher number is earlier.", 10),
  hidden: flag("True if the model is neither listed nor callable."),
  retired: flag("True if the model was removed from the catalog."),
  capabilities: names("The capabilities of an image model: `generate` and `edit`."),
  max_output_tokens: Schema.optional(integer("The maximum number of output tokens; absent if it is unknown.", 128_000)),
  hosted_tools: Schema.optional(names("The hosted tools that requests may contain; absent if there are none.")),
  price_usd_micro_per_million_tokens: Schema.Struct({
    input: integer(`The price of the input ${PRICE}.`, 250_000),
    cache_read: integer(`The price of cache reads ${PRICE}.`, 25_000),
    cache_write: integer(`The price of cache writes ${PRICE}.`, 250_000),
    output: integer(`The price of the output ${PRICE}.`, 2_000_000)
  }),
  routes: Schema.Array(
    Schema.Struct({
      provider: text("The provider of the route.", "openai"),
      upstream_model: text("The provider's name for the model.", "demo-chat"),
      priority: integer("The priority of the route. The routes with the lowest number are tried first.", 0),
      weight: integer("Routes with equal priorities share the load by weight.", 1)
    })
  ).annotations({ description: "The routes of the model." }),
  tiers: Schema.Array(
    Schema.Struct({
      plan_tier_id: uuid("The tier's id.", "019a9f0e-3333-7d1a-9a41-6f1f0d7b2c11"),
      tier_usd_cents: integer("The price in US cents.", 500),
      granted_tokens: integer("The number of tokens.", 2_000_000),
      for_sale: flag("True if resellers can mint the tier.")
    })
  ).annotations({ description: "The tiers of the model." })
}).annotations({ identifier: "CatalogModel" })

export const CatalogBody = Schema.Struct({
  version: integer("The version of the stored catalog.", 7),
  providers: Schema.Array(ProviderBody).annotations({ description: "The providers." }),
  models: Schema.Array(ModelBody).annotations({ description: "All models, including retired ones." })
}).annotations({ identifier: "StoredCatalog" })

export const ChangeBody = Schema.Struct({
  version: integer("The version of the stored catalog.", 8),
  added: names("The added models, and `provider <name>` for added providers."),
  changed: names("The changed models and providers."),
  retired: names("The retired models and providers."),
  members: Schema.Array(
    Schema.Struct({
      name: text("The model or provider.", "demo-chat"),
      member: text(
        "The changed member of the model or provider. The members of the price begin with `price.`.",
        "price.output"
      ),
      before: text("The value before the change.", "2000000"),
      after: text("The value after the change.", "1800000")
    })
  ).annotations({ description: "The members that differ in the changed entries." })
}).annotations({ identifier: "CatalogChange" })

export const toChangeBody = (change: CatalogChange): typeof ChangeBody.Type => ({
  version: change.version,
  added: change.added,
  changed: change.changed,
  retired: change.retired,
  members: change.members.map(({ after, before, member, name }) => ({ name, member, before, after }))
})
