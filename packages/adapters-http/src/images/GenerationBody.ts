/**
 * Reads the JSON body of an image generation and rejects duplicate members.
 */
import type { IncomingMessage } from "node:http"
import { type FieldName, fieldNames } from "@tollgate/domain/images/ImageFields"
import type { GivenMembers } from "@tollgate/domain/images/ReadImageRequest"
import type { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { MemoryReservation } from "../http/MemoryReservation.ts"
import { type BodyRefusal, jsonHeadersError, readWholeBody } from "../http/RequestBody.ts"
import { type MemberPlan, scanner } from "../wire/JsonScan.ts"

/**
 * The maximum body size: fits the longest prompt, even fully escaped, and all members (docs/reference/limits.md#a10).
 */
export const MAX_GENERATION_BYTES = 256 * 1024

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

/** Requires a well-formed JSON object without duplicates of a supported member. */
const scan = scanner({ members: everyField, media: { members: [], types: [] } })

const membersIn = (body: Buffer): Either.Either<GivenMembers, InvalidRequest> =>
  Either.map(scan(body), () => new Map(Object.entries(JSON.parse(body.toString()) as object)))
