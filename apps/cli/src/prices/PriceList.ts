/**
 * Reads the price files of models.dev and LiteLLM. Both are JSON files with public prices of many providers. The
 * content of a file shows which format it has.
 *
 *     models.dev   { "openai": { "models": { "gpt-5-mini": { "cost": { "input": 0.25, … } } } } }    USD per million tokens
 *     LiteLLM      { "gpt-5-mini": { "litellm_provider": "openai", "input_cost_per_token": 2.5e-7 } }   USD per token
 *
 * Sources: https://models.dev/api.json and
 * https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json.
 */
import * as Either from "effect/Either"

/** The prices of a model in micro-USD per million tokens, as in a catalog file. A missing price is undefined. */
export interface ListedModel {
  readonly input: bigint | undefined
  readonly cacheRead: bigint | undefined
  readonly cacheWrite: bigint | undefined
  readonly output: bigint | undefined
  readonly maxOutputTokens: number | undefined
}

export interface PriceList {
  readonly source: "models.dev" | "LiteLLM"
  /**
   * Returns the model of a provider, by the name that the provider uses; undefined if the list lacks the model or its
   * prices.
   */
  readonly find: (provider: string, upstreamModel: string) => ListedModel | undefined
}

type Entry = Readonly<Record<string, unknown>>

/** Returns the price list in a parsed JSON file, or a description of the problem. */
export const readPriceList = (json: unknown): Either.Either<PriceList, string> => {
  const entries = entryOf(json)
  if (entries === undefined) return Either.left("the file is not a JSON object")
  const values = Object.values(entries).map(entryOf)
  if (values.some((value) => entryOf(value?.models) !== undefined)) return Either.right(modelsDev(entries))
  if (values.some((value) => value?.litellm_provider !== undefined)) return Either.right(liteLlm(entries))
  return Either.left("the file is neither a price file of models.dev (api.json) nor of LiteLLM")
}

const modelsDev = (entries: Entry): PriceList => ({
  source: "models.dev",
  find: (provider, upstreamModel) => {
    const model = entryOf(entryOf(entryOf(own(entries, provider))?.models)?.[upstreamModel])
    const cost = entryOf(model?.cost)
    if (cost === undefined) return undefined
    return {
      input: microUsd(cost.input, PER_MILLION),
      cacheRead: microUsd(cost.cache_read, PER_MILLION),
      cacheWrite: microUsd(cost.cache_write, PER_MILLION),
      output: microUsd(cost.output, PER_MILLION),
      maxOutputTokens: positiveInteger(entryOf(model?.limit)?.output)
    }
  }
})

const liteLlm = (entries: Entry): PriceList => ({
  source: "LiteLLM",
  find: (provider, upstreamModel) => {
    const model =
      entryOf(own(entries, `${provider}/${upstreamModel}`)) ??
      [entryOf(own(entries, upstreamModel))].find((entry) => entry?.litellm_provider === provider)
    if (model?.input_cost_per_token === undefined) return undefined
    return {
      input: microUsd(model.input_cost_per_token, PER_TOKEN),
      cacheRead: microUsd(model.cache_read_input_token_cost, PER_TOKEN),
      cacheWrite: microUsd(model.cache_creation_input_token_cost, PER_TOKEN),
      output: microUsd(model.output_cost_per_token, PER_TOKEN),
      maxOutputTokens: positiveInteger(model.max_output_tokens)
    }
  }
})

const entryOf = (value: unknown): Entry | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Entry) : undefined

const own = (entries: Entry, name: string): unknown => (Object.hasOwn(entries, name) ? entries[name] : undefined)

const positiveInteger = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined

/** The power of ten that converts a price of the file to micro-USD per million tokens. */
const PER_MILLION = 6
const PER_TOKEN = 12

const DECIMAL = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/

/**
 * Converts a price to micro-USD per million tokens. A price has few digits, so the shortest decimal text of the parsed
 * number has the value that the file states, and the conversion is exact. A fraction is rounded up, so that no model is
 * sold below the price of its provider.
 */
const microUsd = (price: unknown, scale: number): bigint | undefined => {
  const [, whole, fraction = "", exponent = "0"] = (typeof price === "number" && DECIMAL.exec(String(price))) || []
  if (whole === undefined) return undefined
  const power = scale + Number.parseInt(exponent, 10) - fraction.length
  const digits = BigInt(whole + fraction)
  if (power >= 0) return digits * 10n ** BigInt(power)
  const divisor = 10n ** BigInt(-power)
  return (digits + divisor - 1n) / divisor
}
