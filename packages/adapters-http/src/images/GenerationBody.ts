/**
 * Reads the JSON body of an image generation and rejects duplicates of the supported members.
 */
import type { IncomingMessage } from "node:http"
import { type FieldName, fieldNames } from "@tollgate/domain/images/ImageFields"
import type { GivenMembers } from "@tollgate/domain/images/ReadImageRequest"
import type { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { MemoryReservation } from "../http/MemoryReservation.ts"
import { type BodyRefusal, jsonHeadersError, readWholeBody } from "../http/RequestBody.ts"
import { scanner } from "../wire/JsonScan.ts"
import type { MemberPlan } from "../wire/ScanPlan.ts"

/**
 * The maximum size of the body in bytes (docs/reference/limits.md#a10). A body of this size can contain the longest
 * prompt, even if all its characters are escaped, and all other members. An escaped character has up to 12 bytes: a
 * character beyond U+FFFF, such as an emoji, is escaped as two surrogates of 6 bytes each.
 */
export const MAX_GENERATION_BYTES = 512 * 1024

type GenerationError = InvalidRequest | BodyRefusal

export const readGeneration = (
  request: IncomingMessage,
  reservation: MemoryReservation
): Effect.Effect<GivenMembers, GenerationError> =>
  Effect.suspend(() => {
    const error = jsonHeadersError(request.headers, MAX_GENERATION_BYTES)
    if (error !== undefined) return Effect.fail(error)
    const body = Effect.async<Buffer, BodyRefusal>((resume) =>
      Effect.sync(readWholeBody(request, MAX_GENERATION_BYTES, reservation, resume))
    )
    return Effect.flatMap(body, membersIn)
  })

const everyField = Object.fromEntries(fieldNames.map((name) => [name, {}])) as { readonly [N in FieldName]: MemberPlan }

/**
 * Checks that the body is a well-formed JSON object in which each supported member occurs at most once. A name such as
 * `Prompt` is not a supported member; the table of the fields refuses it.
 */
const scan = scanner({ members: everyField, media: { members: [], types: [] }, caseSensitive: true })

const membersIn = (body: Buffer): Either.Either<GivenMembers, InvalidRequest> =>
  Either.map(scan(body), () => new Map(Object.entries(JSON.parse(body.toString()) as object)))
