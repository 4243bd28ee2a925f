/**
 * The starter catalogs that `tollgate catalog init` writes. Their prices are examples: the list prices of the providers
 * in November 2025, without a margin. The prices of `local` are invented.
 */
export interface Starter {
  readonly provider: object
  readonly models: ReadonlyArray<object>
  /** The action that this provider needs from the operator. */
  readonly hint: string
}

export const STARTERS = ["openai", "anthropic", "openrouter", "local"] as const
export type StarterName = (typeof STARTERS)[number]

const price = (input: number, cache_read: number, cache_write: number, output: number) => ({
  input,
  cache_read,
  cache_write,
  output
})

const GPT_5_MINI = price(250_000, 25_000, 250_000, 2_000_000)
const CLAUDE_HAIKU = price(1_000_000, 100_000, 1_250_000, 5_000_000)

export const starters: Readonly<Record<StarterName, Starter>> = {
  openai: {
    provider: {
      name: "openai",
      base_url: "https://api.openai.com/v1",
      api_key_env: "OPENAI_API_KEY",
      protocols: ["chat", "responses", "embeddings"]
    },
    models: [
      {
        public_name: "gpt-5-mini",
        display_name: "GPT-5 mini",
        author: "OpenAI",
        discovery_rank: 10,
        max_output_tokens: 128_000,
        price_usd_micro_per_million_tokens: GPT_5_MINI,
        routes: [{ provider: "openai", upstream_model: "gpt-5-mini" }],
        tiers: [{ tier_usd_cents: 500, granted_tokens: 2_000_000 }]
      },
      {
        public_name: "text-embedding-3-small",
        display_name: "Text embedding 3 small",
        author: "OpenAI",
        kind: "embedding",
        price_usd_micro_per_million_tokens: price(20_000, 20_000, 20_000, 0),
        routes: [{ provider: "openai", upstream_model: "text-embedding-3-small" }]
      }
    ],
    hint: "Set OPENAI_API_KEY for the server."
  },
  anthropic: {
    provider: {
      name: "anthropic",
      base_url: "https://api.anthropic.com/v1",
      api_key_env: "ANTHROPIC_API_KEY",
      auth: "x-api-key",
      protocols: ["messages"]
    },
    models: [
      {
        public_name: "claude-haiku-4-5",
        display_name: "Claude Haiku 4.5",
        author: "Anthropic",
        discovery_rank: 9,
        max_output_tokens: 64_000,
        price_usd_micro_per_million_tokens: CLAUDE_HAIKU,
        routes: [{ provider: "anthropic", upstream_model: "claude-haiku-4-5" }],
        tiers: [{ tier_usd_cents: 1_000, granted_tokens: 2_000_000 }]
      }
    ],
    hint: "Set ANTHROPIC_API_KEY for the server."
  },
  openrouter: {
    provider: {
      name: "openrouter",
      base_url: "https://openrouter.ai/api/v1",
      api_key_env: "OPENROUTER_API_KEY",
      protocols: ["chat"]
    },
    models: [
      {
        public_name: "openai/gpt-5-mini",
        display_name: "GPT-5 mini through OpenRouter",
        author: "OpenAI",
        discovery_rank: 5,
        max_output_tokens: 128_000,
        price_usd_micro_per_million_tokens: GPT_5_MINI,
        routes: [{ provider: "openrouter", upstream_model: "openai/gpt-5-mini" }]
      }
    ],
    hint: "Set OPENROUTER_API_KEY for the server."
  },
  local: {
    provider: {
      name: "local",
      base_url: "http://127.0.0.1:11434/v1",
      api_key_env: "LOCAL_API_KEY",
      protocols: ["chat"],
      max_concurrency: 4
    },
    models: [
      {
        public_name: "llama3.2",
        display_name: "Llama 3.2",
        author: "Meta",
        discovery_rank: 1,
        price_usd_micro_per_million_tokens: price(50_000, 50_000, 50_000, 100_000),
        routes: [{ provider: "local", upstream_model: "llama3.2" }]
      }
    ],
    hint: "Replace base_url by the URL of your OpenAI-compatible server (the default is Ollama on this machine). Set LOCAL_API_KEY, to any text if your server needs no key."
  }
}

/** Returns a catalog file with these starters. */
export const starterCatalog = (names: ReadonlyArray<StarterName>): object => ({
  providers: names.map((name) => starters[name].provider),
  models: names.flatMap((name) => starters[name].models)
})
