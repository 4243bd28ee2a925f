/**
 * Rewrites a provider's response for the customer. The image is not copied: it is located without parsing, checked
 * without decoding, and the gateway's JSON members are written around it in the same buffer.
 *
 *     {"created":...,"data":[{"b64_json":"<image>"}],"output_format":...,"usage":{...}}
 */
import { readField } from "@tollgate/domain/images/ImageFields"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asCount, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import { usageOf } from "@tollgate/domain/inference/ResponsesDelivered"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { withoutByteOrderMark } from "../wire/ByteOrderMark.ts"
import { decodedBytes, isBase64, withoutEscapes } from "./Base64Text.ts"
import type { BufferedResponse } from "./ResponseBuffer.ts"

/** The maximum size of a decoded image in bytes (docs/reference/images.md#img-11). */
export const MAX_IMAGE_BYTES = 20 * 1024 * 1024
/** The maximum size of a response in bytes, not counting its image. */
const MAX_MEMBERS_BYTES = 1024 * 1024

/** The members of a response with {@link PLACEHOLDER} instead of the image, and the position of the image. */
export interface ParsedResponse {
  readonly members: JsonObject
  readonly image: { readonly start: number; readonly end: number } | undefined
}

const NAME = Buffer.from('"b64_json"')
const QUOTE = 0x22
const COLON = 0x3a
/** The text that replaces the image in the JSON that is parsed. Base64 never contains this text. */
const PLACEHOLDER = "\u0000picture"
const PLACEHOLDER_JSON = Buffer.from(JSON.stringify(PLACEHOLDER))

/** Parses a response. Returns undefined if it is not a JSON object, or is too large even without its image. */
export const parseAroundImage = ({ memory, start, end }: BufferedResponse): ParsedResponse | undefined => {
  const response = memory.subarray(start, end)
  const image = locate(response)
  const around =
    image === undefined
      ? [response]
      : [response.subarray(0, image.start - 1), PLACEHOLDER_JSON, response.subarray(image.end + 1)]
  if (around.reduce((bytes, part) => bytes + part.length, 0) > MAX_MEMBERS_BYTES) return undefined
  const members = parsed(Buffer.concat(around))
  if (members === undefined) return undefined
  return { members, image: image && { start: start + image.start, end: start + image.end } }
}

/**
 * Returns the position, between the quotes, of the first text that looks like a `b64_json` member with a string value.
 * A match at another place than the image is harmless: {@link responseBody} then refuses the response, because it does
 * not find the placeholder at the place of the image.
 */
const locate = (response: Buffer): { readonly start: number; readonly end: number } | undefined => {
  for (let at = response.indexOf(NAME); at >= 0; at = response.indexOf(NAME, at + NAME.length)) {
    const colon = afterSpace(response, at + NAME.length)
    const quote = response[colon] === COLON ? afterSpace(response, colon + 1) : colon
    if (response[colon] !== COLON || response[quote] !== QUOTE) continue
    const end = response.indexOf(QUOTE, quote + 1)
    return end < 0 ? undefined : { start: quote + 1, end }
  }
  return undefined
}

const afterSpace = (bytes: Buffer, at: number): number => {
  let i = at
  while (bytes[i] === 0x20 || bytes[i] === 0x0a || bytes[i] === 0x0d || bytes[i] === 0x09) i += 1
  return i
}

const parsed = (bytes: Buffer): JsonObject | undefined => {
  try {
    return asObject(JSON.parse(withoutByteOrderMark(bytes).toString()))
  } catch {
    return undefined
  }
}

export type ResponseBody =
  | { readonly _tag: "Completed"; readonly image: Buffer; readonly usage: ReportedUsage }
  | { readonly _tag: "TooLarge"; readonly usage: ReportedUsage }

/** Builds the customer's response body in the same buffer: overwrites the provider's members around the image. */
export const responseBody = (
  { memory }: BufferedResponse,
  { members, image }: ParsedResponse,
  createdAtSeconds: number
): Effect.Effect<ResponseBody, UpstreamFailed> =>
  Effect.gen(function* () {
    const data = asArray(members.data)
    if (image === undefined || data.length !== 1 || asObject(data[0])?.b64_json !== PLACEHOLDER) {
      return yield* new UpstreamFailed({ cause: `expected one inline image; the response has ${data.length} items` })
    }
    const base64 = yield* withoutEscapes(memory.subarray(image.start, image.end))
    const usage = usageOf(members.usage)
    if (decodedBytes(base64) > MAX_IMAGE_BYTES) return { _tag: "TooLarge", usage }
    if (!(yield* isBase64(base64))) return yield* new UpstreamFailed({ cause: "the image is not base64" })
    const head = Buffer.from(`{"created":${createdAtSeconds},"data":[{"b64_json":"`)
    const tail = Buffer.from(`"}]${tailMembers(members, usage)}}`)
    const start = image.start - head.copy(memory, image.start - head.length)
    const imageEnd = image.start + base64.length
    const end = imageEnd + tail.copy(memory, imageEnd)
    return { _tag: "Completed", image: memory.subarray(start, end), usage }
  })

/** The members that describe the image. A member is passed on only if a customer can request its value. */
const DESCRIPTIVE_MEMBERS = ["background", "output_format", "quality", "size"] as const

const tailMembers = (members: JsonObject, usage: ReportedUsage): string => {
  const tail: { [name: string]: unknown } = {}
  for (const name of DESCRIPTIVE_MEMBERS) {
    const value = members[name]
    if (typeof value === "string" && Either.isRight(readField("generate", name, value))) tail[name] = value
  }
  const figures = usageMember(usage, asObject(members.usage))
  if (figures !== undefined) tail.usage = figures
  return Object.entries(tail)
    .map(([name, value]) => `,"${name}":${JSON.stringify(value)}`)
    .join("")
}

/**
 * Returns the usage member, or undefined if a token count is not reported, because the gateway does not estimate it.
 */
const usageMember = ({ prompt, output }: ReportedUsage, given: JsonObject | undefined): JsonObject | undefined => {
  if (prompt === undefined || output === undefined) return undefined
  const input = Number(prompt.input + prompt.cacheWrite + prompt.cacheRead)
  return {
    input_tokens: input,
    output_tokens: Number(output),
    total_tokens: input + Number(output),
    ...breakdown("input_tokens_details", given),
    ...breakdown("output_tokens_details", given)
  }
}

const DETAIL_MEMBERS = ["text_tokens", "image_tokens", "cached_tokens"]

const breakdown = (name: string, given: JsonObject | undefined): JsonObject => {
  const details = asObject(given?.[name])
  if (details === undefined) return {}
  return { [name]: Object.fromEntries(DETAIL_MEMBERS.flatMap((part) => counted(part, asCount(details[part])))) }
}

const counted = (name: string, count: number | undefined) => (count === undefined ? [] : [[name, count] as const])
