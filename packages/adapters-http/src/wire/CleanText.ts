/**
 * A supplier's words, made safe for a client (docs/reference/inference.md#f15).
 *
 * Clients act on the wording of refusals ("prompt is too long: ..."), so it is kept where it can be: the supplier's
 * name of the model becomes ours, and if anything is left that could tell who the supplier is, which account we have
 * there or what it costs us, nothing of the text is kept.
 */

/** Names that must never reach a client: the supplier's, its host's, its models'. */
export interface ProviderNames {
  readonly publicName: string
  readonly upstreamModel: string
  readonly secretWords: ReadonlyArray<string>
}

/** The text as a client may see it; undefined when none of it can be shown. */
export const cleanText = (text: string, names: ProviderNames): string | undefined => {
  // No refusal is that long; what is may be an attempt to keep the patterns below busy.
  if (text.length > MAX_SEARCHED_CHARACTERS) return undefined
  const visible = text.replace(INVISIBLE, " ").trim()
  const renamed = visible.replace(modelPattern([names.publicName, ...idsOf(names.upstreamModel)]), PLACEHOLDER)
  const searched = renamed.replace(CALL_IDS, " ")
  if (renamed === "" || TELLING.some((pattern) => pattern.test(searched))) return undefined
  if (names.secretWords.some((word) => wordPattern(word).test(searched))) return undefined
  const shown = renamed.replaceAll(PLACEHOLDER, () => names.publicName)
  return shown.length > MAX_SHOWN_CHARACTERS ? `${shown.slice(0, MAX_SHOWN_CHARACTERS)}...` : shown
}

/** The path of a member, if it is nothing else. */
export const cleanParam = (param: unknown, names: ProviderNames): string | null =>
  typeof param === "string" && PARAM.test(param) && cleanText(param, names) === param ? param : null

const MAX_SHOWN_CHARACTERS = 1_000
const MAX_SEARCHED_CHARACTERS = 2_000
const PARAM = /^[\w.[\]-]{1,100}$/

/** Control and formatting characters; a placeholder can be one of them. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu
/** Stands for our name of the model while the rest is searched. */
const PLACEHOLDER = "\u0001"

/** Ids of tool calls come from the client's own messages. */
const CALL_IDS = /\b(?:call|toolu)_[\w-]+/g

/** Who runs models for others. A supplier behind a supplier is in no catalog. */
const SUPPLIERS = new RegExp(
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

const TELLING: ReadonlyArray<RegExp> = [
  SUPPLIERS,
  // Addresses of the web, of mail, of machines.
  /:\/\/\w|\bwww\.|\S@\S/i,
  /\b[a-z0-9-]+\.(?:ai|app|cloud|cn|co|com|dev|eu|io|local|internal|net|org|run|so|tech|us|xyz)\b/i,
  /\b\d{1,3}(?:\.\d{1,3}){3}\b/,
  // Keys, accounts, ids.
  /\b(?:sk|pk|rk|gsk|xai|hf|fw|r8|nvapi|pplx|csk|key|orgs?|proj|project|acct|account|user|team|wrkspc|workspace|tenant|deployment|req|request|resp|msg|gen|chatcmpl|trace|run)[-_](?=[\w*.-]*[\d*])[\w*.-]{6,}/i,
  /\bAIza|\barn:/,
  /\b(?:request|trace|correlation|generation|organi[sz]ation|account|project|tenant|deployment|resource|subscription)[\s_-]?ids?\b/i,
  /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}\b/i,
  /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{24,}/i,
  // Money, and the terms we have there.
  /[$€£¥]\s?\d|\d\s?[€£¥]|\b(?:usd|eur|cny|rmb)\b|\d\s?(?:cents?|dollars?|credits?)\b/i,
  /\b(?:billing|billed|invoice|payment|price[ds]?|pricing|credit balance|(?:current|insufficient) (?:balance|credits?|funds|quota)|your plan|(?:free|paid|usage) (?:plan|tier)|upgrade|subscription|api[ _-]?key)\b/i
]

/** A model may be named with a path before its id, and its id with a version after it. */
const modelPattern = (ids: ReadonlyArray<string>): RegExp => {
  const alternatives = [...ids].sort((a, b) => b.length - a.length).map((id) => escaped(id) + (isWord(id) ? END : ""))
  return new RegExp(`(?<![\\w/.-])(?:[\\w.-]{1,64}/){0,6}(?:${alternatives.join("|")})(?:[-_.:@/]?[a-z0-9])*`, "gi")
}

/** A model called `max` is not meant by `maximum`. */
const isWord = (id: string): boolean => /^[a-z]+$/i.test(id)
const END = "(?![a-z])"

/** `vendor/model` is also known as `model`. */
const idsOf = (upstreamModel: string): ReadonlyArray<string> => {
  const short = upstreamModel.slice(upstreamModel.lastIndexOf("/") + 1)
  return short.length < 3 ? [upstreamModel] : [upstreamModel, short]
}

/** Short names are words of their own only; long ones are seen inside other words as well. */
const wordPattern = (word: string): RegExp =>
  new RegExp(word.length < 5 ? `(?<![a-z0-9])${escaped(word)}(?![a-z0-9])` : escaped(word), "i")

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")
