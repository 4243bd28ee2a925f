/**
 * Removes from a provider's texts and objects the known marks of the provider, of the gateway's account at the provider
 * and of the gateway's costs (docs/reference/inference.md#f15).
 *
 * Clients act on the wording of refusals ("prompt is too long: ..."). Therefore a text is kept if possible, and the
 * name that the provider uses for the model is replaced by the public name. If a pattern below matches another part of
 * the text, the whole text is dropped.
 */
import { shortened } from "@tollgate/domain/validation/Text"

/** The public name of the model, and the words that must never reach a client. */
export interface ProviderNames {
  readonly publicName: string
  readonly upstreamModel: string
  /**
   * The names of all providers in the catalog and the parts of their base URLs. Callers pass the same array repeatedly,
   * because its compiled pattern is cached.
   */
  readonly secretWords: ReadonlyArray<string>
  /** Returns true if the text contains the API key of a provider in the catalog. Very short keys are not searched. */
  readonly containsApiKey: (text: string) => boolean
}

/** Returns the text that the client may see; undefined if the whole text must be dropped. */
export const redactedText = (text: string, names: ProviderNames): string | undefined => {
  // A longer text could make the regular expressions below slow.
  if (text.length > MAX_SEARCHED_CHARACTERS) return undefined
  const visible = text.replace(INVISIBLE, " ").trim()
  const renamed = visible.replace(modelPattern([names.publicName, ...idsOf(names.upstreamModel)]), PLACEHOLDER)
  const searched = renamed.replace(CALL_IDS, " ")
  if (renamed === "" || IDENTIFYING.some((pattern) => pattern.test(searched))) return undefined
  if (secretPattern(names.secretWords)?.test(searched) || names.containsApiKey(visible)) return undefined
  const shown = renamed.replaceAll(PLACEHOLDER, () => names.publicName)
  return shortened(shown, MAX_SHOWN_CHARACTERS)
}

/** Returns `param` if it is a member path that does not identify the provider, else null. */
export const redactedParam = (param: unknown, names: ProviderNames): string | null =>
  typeof param === "string" && PARAM.test(param) && redactedText(param, names) === param ? param : null

const MAX_SHOWN_CHARACTERS = 1_000
const MAX_SEARCHED_CHARACTERS = 2_000
const PARAM = /^[\w.[\]-]{1,100}$/

/** Matches control and formatting characters. They are replaced first, so the text cannot contain the placeholder. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu
/** The character that stands for the names of the model while the rest of the text is searched. */
const PLACEHOLDER = "\u0001"

/** Matches the ids of tool calls. These ids come from the client's own messages, so they are not searched. */
const CALL_IDS = /\b(?:call|toolu)_[\w-]+/g

/**
 * Matches the names of companies and of software that serve models. The list does not depend on the configured
 * providers, because a provider can forward a request to another provider.
 */
const PROVIDERS = new RegExp(
  [
    "alibaba|amazon|anthropic|anyscale|azure|baidu|baseten|bedrock|bytedance|cerebras|cloudflare|coreweave|dashscope",
    "databricks|deepinfra|deepseek|doubao|fireworks|friendli|google|groq|hugging ?face|hyperbolic|inference\\.net",
    "kluster|lambda\\.ai|lepton|litellm|llama\\.cpp|llm-?gateway|microsoft|minimax|mistral|modal\\.com|moonshot|nebius",
    "novita|nvidia|ollama|openai|openrouter|parasail|perplexity|portkey|qianfan|replicate\\.com|runpod|sambanova",
    "scaleway|sglang|siliconflow|tencent|together\\.?ai|togethercomputer|vercel|vertex|vllm|volcengine|volcano ?engine",
    "zhipu|cohere(?!n)|\\b(?:ai21|aws|gcp|grok|new-?api|one-?api|tgi|x\\.?ai|z\\.ai)\\b"
  ].join("|"),
  "i"
)

const IDENTIFYING: ReadonlyArray<RegExp> = [
  PROVIDERS,
  // URLs, email addresses, host names and IP addresses.
  /:\/\/\w|\bwww\.|\S@\S/i,
  /\b[a-z0-9-]+\.(?:ai|app|cloud|cn|co|com|dev|eu|io|local|internal|net|org|run|so|tech|us|xyz)\b/i,
  /\b\d{1,3}(?:\.\d{1,3}){3}\b/,
  // API keys, account names and ids.
  /\b(?:sk|pk|rk|gsk|xai|hf|fw|r8|nvapi|pplx|csk|key|orgs?|proj|project|acct|account|user|team|wrkspc|workspace|tenant|deployment|req|request|resp|msg|gen|chatcmpl|trace|run)[-_](?=[\w*.-]*[\d*])[\w*.-]{6,}/i,
  /\bAIza|\barn:/,
  /\b(?:request|trace|correlation|generation|organi[sz]ation|account|project|tenant|deployment|resource|subscription)[\s_-]?ids?\b/i,
  /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}\b/i,
  /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{24,}/i,
  // Amounts of money, and words about the gateway's account.
  /[$€£¥]\s?\d|\d\s?[€£¥]|\b(?:usd|eur|cny|rmb)\b|\d\s?(?:cents?|dollars?|credits?)\b/i,
  /\b(?:billing|billed|invoice|payment|price[ds]?|pricing|credit balance|(?:current|insufficient) (?:balance|credits?|funds|quota)|your plan|(?:free|paid|usage) (?:plan|tier)|upgrade|subscription|api[ _-]?key)\b/i
]

/** Returns a pattern that matches each id, with an optional path before the id and an optional version after it. */
const modelPattern = (ids: ReadonlyArray<string>): RegExp => {
  const alternatives = [...ids].sort((a, b) => b.length - a.length).map((id) => escaped(id) + (isWord(id) ? END : ""))
  return new RegExp(`(?<![\\w/.-])(?:[\\w.-]{1,64}/){0,6}(?:${alternatives.join("|")})(?:[-_.:@/]?[a-z0-9])*`, "gi")
}

/** Returns true if an id consists only of letters. Such an id (`max`) must not match a longer word (`maximum`). */
const isWord = (id: string): boolean => /^[a-z]+$/i.test(id)
const END = "(?![a-z])"

/** Returns the upstream model name; for `vendor/model` also `model`, if it has at least 3 characters. */
const idsOf = (upstreamModel: string): ReadonlyArray<string> => {
  const short = upstreamModel.slice(upstreamModel.lastIndexOf("/") + 1)
  return short.length < 3 ? [upstreamModel] : [upstreamModel, short]
}

/** Caches the pattern of each array of secret words, because compiling a pattern takes longer than using it. */
const secretPatterns = new WeakMap<ReadonlyArray<string>, RegExp>()

/** Returns a pattern that matches a word of up to 4 characters as a whole word, and a longer word also inside words. */
const secretPattern = (words: ReadonlyArray<string>): RegExp | undefined => {
  if (words.length === 0) return undefined
  const known = secretPatterns.get(words)
  if (known !== undefined) return known
  const alternatives = words.map((word) =>
    word.length < 5 ? `(?<![a-z0-9])${escaped(word)}(?![a-z0-9])` : escaped(word)
  )
  const pattern = new RegExp(alternatives.join("|"), "i")
  secretPatterns.set(words, pattern)
  return pattern
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

/** Response members that identify the provider, its internals, or the price that the gateway pays. */
const PROVIDER_MEMBERS: ReadonlySet<string> = new Set([
  "content_filter_offsets",
  "content_filter_result",
  "content_filter_results",
  "cost",
  "cost_details",
  "inference_geo",
  "is_byok",
  "kv_transfer_params",
  "obfuscation",
  "prompt_filter_results",
  "queue_time",
  "service_tier",
  "system_fingerprint",
  "time_info"
])

const PROVIDER_MEMBER_PREFIXES =
  /^(?:x[_-]|provider|vendor|native_|upstream|gateway|openrouter|litellm|amazon|azure|groq|bedrock|vertex)/i

export const isProviderMember = (name: string): boolean =>
  PROVIDER_MEMBERS.has(name) || PROVIDER_MEMBER_PREFIXES.test(name)

/** Returns a copy without the members that identify the provider, or the same object if there are none. */
export const withoutProviderMembers = <A extends { readonly [member: string]: unknown }>(object: A): A => {
  for (const name in object) {
    if (isProviderMember(name)) {
      return Object.fromEntries(Object.entries(object).filter(([member]) => !isProviderMember(member))) as A
    }
  }
  return object
}
