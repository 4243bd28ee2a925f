/**
 * The JSON body of a generation: its members, each there once.
 */
import type { IncomingMessage } from "node:http"
import { type FieldName, fieldNames } from "@tollgate/domain/images/ImageFields"
import type { GivenMembers } from "@tollgate/domain/images/ReadImageRequest"
import { InvalidRequest, Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { type MemberPlan, scanner } from "../wire/JsonScan.ts"
import { announcedBytes, type BodyReader, isEncoded, readBody } from "./BodyReader.ts"
import type { ImageLease } from "./ImageLease.ts"

/** Longest prompt and all, escaped or not (gap A10). */
export const GENERATION_BYTES = 256 * 1024

/** JSON by any of its names, or by none, as on the other routes. */
const READABLE = /^\s*(application\/(json|[\w.+-]+\+json)|text\/(plain|json))\s*(;|$)/i

type BodyFault = InvalidRequest | RequestTooLarge | Overloaded

export const readGeneration = (request: IncomingMessage, lease: ImageLease): Effect.Effect<GivenMembers, BodyFault> =>
  Effect.suspend(() => {
    const { "content-type": type } = request.headers
    if (isEncoded(request)) return refuse("Send the body without content-encoding.")
    if (type !== undefined && !READABLE.test(type)) {
      return refuse("Send the body as JSON, with 'content-type: application/json'.")
    }
    if (announcedBytes(request) > GENERATION_BYTES) return Effect.fail(tooLarge())
    return Effect.flatMap(readBody(request, new WholeBody(lease)), membersIn)
  })

class WholeBody implements BodyReader<Buffer, BodyFault> {
  readonly #lease: ImageLease
  readonly #pieces: Array<Buffer> = []
  #bytes = 0

  constructor(lease: ImageLease) {
    this.#lease = lease
  }

  take(piece: Buffer): BodyFault | undefined {
    this.#bytes += piece.length
    if (this.#bytes > GENERATION_BYTES) return tooLarge()
    if (!this.#lease.take(piece.length)) return new Overloaded({ retryAfterSeconds: 1 })
    this.#pieces.push(piece)
    return undefined
  }

  end(): Either.Either<Buffer, BodyFault> {
    return Either.right(Buffer.concat(this.#pieces, this.#bytes))
  }
}

const tooLarge = () => new RequestTooLarge({ limitBytes: GENERATION_BYTES })
const refuse = (message: string) => Effect.fail(new InvalidRequest({ message, param: null }))

const everyField = Object.fromEntries(fieldNames.map((name) => [name, {}])) as { readonly [N in FieldName]: MemberPlan }

/** Well-formed, an object, and no field of ours there twice. */
const scan = scanner({ members: everyField, media: { members: [], types: [] } })

const membersIn = (body: Buffer): Either.Either<GivenMembers, InvalidRequest> =>
  Either.map(scan(body), () => new Map(Object.entries(JSON.parse(body.toString()) as object)))
