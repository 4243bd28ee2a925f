/**
 * Members of answers that tell who the supplier is, how it works inside, or what it costs us
 * (docs/reference/inference.md#f15).
 */
const MEMBERS: ReadonlySet<string> = new Set([
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

const PREFIXES =
  /^(?:x[_-]|provider|vendor|native_|upstream|gateway|openrouter|litellm|amazon|azure|groq|bedrock|vertex)/i

export const isSupplierMember = (name: string): boolean => MEMBERS.has(name) || PREFIXES.test(name)

/** The object itself when there is nothing to remove. */
export const withoutSupplierMembers = <A extends { readonly [member: string]: unknown }>(object: A): A => {
  for (const name in object) {
    if (isSupplierMember(name)) {
      return Object.fromEntries(Object.entries(object).filter(([member]) => !isSupplierMember(member))) as A
    }
  }
  return object
}
