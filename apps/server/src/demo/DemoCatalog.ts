/**
 * What can be called in a demo: two models, both served by the simulated supplier, with every protocol there is.
 */
import { type CatalogTerms, parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import * as Either from "effect/Either"

/** The environment variable the demo's supplier key would be in. */
export const DEMO_KEY_ENV = "SIMULATOR_API_KEY"

export const demoCatalog = (simulatorBaseUrl: string): CatalogTerms =>
  Either.getOrThrow(
    parseCatalogFile({
      providers: [
        {
          name: "simulator",
          base_url: simulatorBaseUrl,
          api_key_env: DEMO_KEY_ENV,
          protocols: ["chat", "messages", "responses"]
        }
      ],
      models: [
        {
          public_name: "demo-chat",
          display_name: "Demo chat (simulated)",
          author: "Tollgate",
          discovery_rank: 10,
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
          price_usd_micro_per_million_tokens: {
            input: 1_250_000,
            cache_read: 125_000,
            cache_write: 1_250_000,
            output: 10_000_000
          },
          routes: [{ provider: "simulator", upstream_model: "simulated-large" }],
          tiers: [{ tier_usd_cents: 2_000, granted_tokens: 4_000_000 }]
        }
      ]
    })
  )
