/**
 * Defines the demo catalog: two text models, two image models and an embedding model. The simulated provider serves
 * them all.
 */
import { type CatalogTerms, parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import * as Either from "effect/Either"

/** The environment variable that contains the API key of the simulated provider, as the demo catalog states. */
export const DEMO_KEY_ENV = "SIMULATOR_API_KEY"

export const demoCatalog = (simulatorBaseUrl: string): CatalogTerms =>
  Either.getOrThrow(
    parseCatalogFile({
      providers: [
        {
          name: "simulator",
          base_url: simulatorBaseUrl,
          api_key_env: DEMO_KEY_ENV,
          protocols: ["chat", "messages", "responses", "images", "embeddings"]
        }
      ],
      models: [
        {
          public_name: "demo-chat",
          display_name: "Demo chat (simulated)",
          author: "Tollgate",
          discovery_rank: 10,
          max_output_tokens: 16_384,
          // Some clients offer this tool with every request. The simulated provider never calls it.
          hosted_tools: ["web_search"],
          price_usd_micro_per_million_tokens: {
            input: 250_000,
            cache_read: 25_000,
            cache_write: 250_000,
            output: 2_000_000
          },
          routes: [{ provider: "simulator", upstream_model: "simulated-small" }],
          tiers: [{ tier_usd_cents: 500, granted_tokens: 5_000_000 }]
        },
        {
          public_name: "demo-chat-large",
          display_name: "Demo chat, large (simulated)",
          author: "Tollgate",
          discovery_rank: 5,
          max_output_tokens: 128_000,
          hosted_tools: ["web_search"],
          price_usd_micro_per_million_tokens: {
            input: 1_250_000,
            cache_read: 125_000,
            cache_write: 1_250_000,
            output: 10_000_000
          },
          routes: [{ provider: "simulator", upstream_model: "simulated-large" }],
          tiers: [{ tier_usd_cents: 2_000, granted_tokens: 4_000_000 }]
        },
        {
          public_name: "demo-image",
          display_name: "Demo image (simulated)",
          author: "Tollgate",
          kind: "image",
          capabilities: ["generate"],
          discovery_rank: 4,
          price_usd_micro_per_million_tokens: {
            input: 2_000_000,
            cache_read: 200_000,
            cache_write: 2_000_000,
            output: 8_000_000
          },
          routes: [{ provider: "simulator", upstream_model: "simulated-painter-small" }]
        },
        {
          public_name: "demo-image-edit",
          display_name: "Demo image with editing (simulated)",
          author: "Tollgate",
          kind: "image",
          capabilities: ["generate", "edit"],
          discovery_rank: 3,
          price_usd_micro_per_million_tokens: {
            input: 5_000_000,
            cache_read: 1_250_000,
            cache_write: 5_000_000,
            output: 40_000_000
          },
          routes: [{ provider: "simulator", upstream_model: "simulated-painter" }]
        },
        {
          public_name: "demo-embedding",
          display_name: "Demo embedding (simulated)",
          author: "Tollgate",
          kind: "embedding",
          discovery_rank: 2,
          price_usd_micro_per_million_tokens: { input: 20_000, cache_read: 20_000, cache_write: 20_000, output: 0 },
          routes: [{ provider: "simulator", upstream_model: "simulated-embedding" }]
        }
      ]
    })
  )
