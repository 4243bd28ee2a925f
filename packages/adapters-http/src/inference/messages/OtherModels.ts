/**
 * Models that a request names beside its own: to fall back to, or to ask for advice. A supplier would run them on our
 * account, past the catalog and past the price the request is charged at, so they are refused.
 */
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asObject, asText } from "@tollgate/domain/inference/Json"
import type { ScannedMember } from "../../wire/JsonScan.ts"

export interface MembersNamingModels {
  readonly fallbacks?: ScannedMember
  readonly tools?: ScannedMember
}

export const otherModel = (body: Buffer, { fallbacks, tools }: MembersNamingModels): InvalidRequest | undefined => {
  if (fallbacks?.kind === "array" && !fallbacks.empty) return refusal("fallbacks")
  return tools !== undefined && asksForAdvice(body.subarray(tools.start, tools.end)) ? refusal("tools") : undefined
}

/** Tool definitions are long and sent with every request: read only when the word is in them, or may be, escaped. */
const asksForAdvice = (tools: Buffer): boolean =>
  (tools.includes("advisor_") || tools.includes("\\u")) &&
  asArray(JSON.parse(tools.toString())).some((tool) => asText(asObject(tool)?.type).startsWith("advisor_"))

const refusal = (param: string): InvalidRequest =>
  new InvalidRequest({
    message: `'${param}' must not name another model: one request is answered by one model.`,
    param
  })
