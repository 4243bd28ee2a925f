/**
 * Simulates image generations and edits, with usage in the form that OpenAI image models report.
 */
import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { type SimulatedProtocol, SimulatedRefusal, type SimulatedResponse } from "../sharing/SimulatedProtocol.ts"
import { type PictureFormat, pictureOf } from "./SimulatedPicture.ts"

/** The number of output tokens for an image of 1024 by 1024 pixels, per quality. */
const TOKENS = { low: 272, medium: 1_056, high: 4_160 } as const
const USUAL_AREA_PX = 1_048_576
/** The number of input tokens for any source image. */
const SOURCE_TOKENS = 323

const FORMATS: ReadonlyArray<PictureFormat> = ["png", "jpeg", "webp"]

export const makeGenerations = (): SimulatedProtocol => ({
  path: "/images/generations",
  respond: (request) => made(request, 0)
})

export const makeEdits = (): SimulatedProtocol => ({
  path: "/images/edits",
  respond: (form) =>
    asObject(form.image) === undefined
      ? new SimulatedRefusal({ status: 400, message: "image: one file is required", param: "image" })
      : made(form, SOURCE_TOKENS)
})

const made = (
  request: JsonObject,
  imageTokens: number
): Effect.Effect<SimulatedResponse, SimulatedRefusal, TokenCounter> =>
  Effect.gen(function* () {
    const words = asText(request.prompt)
    if (words === "")
      return yield* new SimulatedRefusal({ status: 400, message: "prompt: a text is required", param: "prompt" })
    const format = FORMATS.find((each) => each === request.output_format) ?? "png"
    const [, width = "1024", height = "1024"] = /^(\d+)x(\d+)$/.exec(asText(request.size)) ?? []
    const [widthPx, heightPx] = [Number(width), Number(height)]
    const quality = request.quality === "low" || request.quality === "high" ? request.quality : "medium"
    const transparent = request.background === "transparent"
    const textTokens = Number(yield* (yield* TokenCounter).count(words))
    const outputTokens = Math.ceil((TOKENS[quality] * widthPx * heightPx) / USUAL_AREA_PX)
    return {
      _tag: "Whole",
      afterMillis: yield* painting,
      body: {
        created: Math.trunc((yield* Clock.currentTimeMillis) / 1_000),
        background: transparent ? "transparent" : "opaque",
        data: [{ b64_json: pictureOf({ format, widthPx, heightPx, transparent, words }) }],
        output_format: format,
        quality,
        size: `${width}x${height}`,
        usage: {
          input_tokens: textTokens + imageTokens,
          input_tokens_details: { image_tokens: imageTokens, text_tokens: textTokens },
          output_tokens: outputTokens,
          total_tokens: textTokens + imageTokens + outputTokens
        }
      }
    }
  })

const painting = Random.nextIntBetween(1_500, 3_000)
