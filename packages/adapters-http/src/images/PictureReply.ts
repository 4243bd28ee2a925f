/**
 * From a supplier's answer to ours, around a picture that stays where it is in memory: found without being parsed,
 * checked without being decoded, and framed in place.
 *
 *     {"created":...,"data":[{"b64_json":"<picture>"}],"output_format":...,"usage":{...}}
 */
import { readField } from "@tollgate/domain/images/ImageFields"
import { UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asCount, asObject, type JsonObject } from "@tollgate/domain/inference/Json"
import type { ReportedUsage } from "@tollgate/domain/inference/ReportedUsage"
import { usageOf } from "@tollgate/domain/inference/ResponsesDelivered"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { GatheredAnswer } from "./AnswerMemory.ts"
import { isOneBase64, picturedBytes } from "./Base64Text.ts"

/** Of a picture, decoded (docs/reference/images.md#img-11). */
export const PICTURE_BYTES = 20 * 1024 * 1024
/** Whatever stands around a picture. */
const FRAME_BYTES = 1024 * 1024
/** What stands around the picture, and where the picture is. */
export interface FramedPicture {
  readonly frame: JsonObject
  readonly picture: { readonly start: number; readonly end: number } | undefined
}

const NAME = Buffer.from('"b64_json"')
const QUOTE = 0x22
const COLON = 0x3a
/** Stands for the picture where the rest is parsed. A supplier's own value that looks the same is no picture either. */
const MARK = "\u0000picture"
const MARK_JSON = Buffer.from(JSON.stringify(MARK))

/** Undefined when it is no JSON object, or more than a picture in a frame. */
export const frameOf = ({ memory, start, end }: GatheredAnswer): FramedPicture | undefined => {
  const answer = memory.subarray(start, end)
  const picture = locate(answer)
  const around =
    picture === undefined
      ? [answer]
      : [answer.subarray(0, picture.start - 1), MARK_JSON, answer.subarray(picture.end + 1)]
  if (around.reduce((bytes, part) => bytes + part.length, 0) > FRAME_BYTES) return undefined
  const frame = parsed(Buffer.concat(around))
  if (frame === undefined) return undefined
  return { frame, picture: picture && { start: start + picture.start, end: start + picture.end } }
}

/**
 * The first member of that name that is text, between its quotes. Base64 holds no quote, so that whatever was taken too
 * early or too late is no base64, or leaves no JSON.
 */
const locate = (answer: Buffer): { readonly start: number; readonly end: number } | undefined => {
  for (let at = answer.indexOf(NAME); at >= 0; at = answer.indexOf(NAME, at + NAME.length)) {
    const colon = afterSpace(answer, at + NAME.length)
    const quote = answer[colon] === COLON ? afterSpace(answer, colon + 1) : colon
    if (answer[colon] !== COLON || answer[quote] !== QUOTE) continue
    const end = answer.indexOf(QUOTE, quote + 1)
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
    return asObject(JSON.parse(bytes.toString()))
  } catch {
    return undefined
  }
}

export type Reply =
  | { readonly _tag: "Pictured"; readonly picture: Buffer; readonly usage: ReportedUsage }
  | { readonly _tag: "TooLarge" }

/** Our reply, written over what the supplier sent around its picture. */
export const replyWith = (
  { memory }: GatheredAnswer,
  { frame, picture }: FramedPicture,
  createdAtSeconds: number
): Effect.Effect<Reply, UpstreamFailed> =>
  Effect.gen(function* () {
    const data = asArray(frame.data)
    if (picture === undefined || data.length !== 1 || asObject(data[0])?.b64_json !== MARK) {
      return yield* new UpstreamFailed({ cause: `answered with ${data.length} images, or none that is inline` })
    }
    const base64 = memory.subarray(picture.start, picture.end)
    const bytes = picturedBytes(base64)
    if (bytes > PICTURE_BYTES) return { _tag: "TooLarge" }
    if (!(yield* isOneBase64(base64)))
      return yield* new UpstreamFailed({ cause: "answered with an image that is no base64" })
    const usage = usageOf(frame.usage)
    const head = Buffer.from(`{"created":${createdAtSeconds},"data":[{"b64_json":"`)
    const tail = Buffer.from(`"}]${tailMembers(frame, usage)}}`)
    const start = picture.start - head.copy(memory, picture.start - head.length)
    const end = picture.end + tail.copy(memory, picture.end)
    return { _tag: "Pictured", picture: memory.subarray(start, end), usage }
  })

/** Of what else suppliers say, what describes the picture, where it is one of the values that customers can ask for. */
const DESCRIBING = ["background", "output_format", "quality", "size"] as const

const tailMembers = (frame: JsonObject, usage: ReportedUsage): string => {
  const told: { [name: string]: unknown } = {}
  for (const name of DESCRIBING) {
    const value = frame[name]
    if (typeof value === "string" && Either.isRight(readField("generate", name, value))) told[name] = value
  }
  const figures = usageMember(usage, asObject(frame.usage))
  if (figures !== undefined) told.usage = figures
  return Object.entries(told)
    .map(([name, value]) => `,"${name}":${JSON.stringify(value)}`)
    .join("")
}

/** Undefined unless both figures are known: none is made up. */
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

const PARTS = ["text_tokens", "image_tokens", "cached_tokens"]

const breakdown = (name: string, given: JsonObject | undefined): JsonObject => {
  const details = asObject(given?.[name])
  if (details === undefined) return {}
  return { [name]: Object.fromEntries(PARTS.flatMap((part) => counted(part, asCount(details[part])))) }
}

const counted = (name: string, count: number | undefined) => (count === undefined ? [] : [[name, count] as const])
