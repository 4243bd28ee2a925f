/**
 * The JSON body of a generation: its members, each there once.
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

/** Longest prompt and all, escaped or not (docs/reference/limits.md#a10). */
export const GENERATION_BYTES = 256 * 1024

type BodyFault = InvalidRequest | BodyRefusal

export const readGeneration = (
  request: IncomingMessage,
  reservation: MemoryReservation
): Effect.Effect<GivenMembers, BodyFault> =>
  Effect.suspend(() => {
    const error = jsonHeadersError(request.headers, GENERATION_BYTES)
    if (error !== undefined) return Effect.fail(error)
    const body = Effect.async<Buffer, BodyRefusal>((resume) =>
      Effect.sync(readWholeBody(request, GENERATION_BYTES, reservation, resume))
    )
    return Effect.flatMap(body, membersIn)
  })

const everyField = Object.fromEntries(fieldNames.map((name) => [name, {}])) as { readonly [N in FieldName]: MemberPlan }

/** Well-formed, an object, and no field of ours there twice. */
const scan = scanner({ members: everyField, media: { members: [], types: [] } })

const membersIn = (body: Buffer): Either.Either<GivenMembers, InvalidRequest> =>
  Either.map(scan(body), () => new Map(Object.entries(JSON.parse(body.toString()) as object)))
