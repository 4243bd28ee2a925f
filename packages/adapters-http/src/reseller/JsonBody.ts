/**
 * Reads the JSON body of a request and validates the body with a schema of the domain. A body that does not match the
 * schema, even one that is not JSON, is reported as `validation_error` with status 422. The error tables of the
 * reseller API and of the operator API contain no error with status 400.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type { ValidationFailed } from "@tollgate/domain/validation/Validation"
import { invalid, read } from "@tollgate/domain/validation/Validation"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Schema from "effect/Schema"
import { isDeclaredJson, isEncoded } from "../http/RequestBody.ts"
import { MAX_BODY_BYTES, SmallBodies } from "../http/SmallBodies.ts"

export const jsonBody = <A, I>(schema: Schema.Schema<A, I>, maxBytes: number = MAX_BODY_BYTES) => {
  const readBody = read(schema)
  return Effect.gen(function* () {
    const request = NodeHttpServerRequest.toIncomingMessage(yield* HttpServerRequest.HttpServerRequest)
    if (!isDeclaredJson(request.headers)) {
      return yield* invalid("", "send the body as JSON, with 'content-type: application/json'")
    }
    if (isEncoded(request.headers)) {
      return yield* invalid("", "send the body without content-encoding")
    }
    const bytes = yield* (yield* SmallBodies).read(request, maxBytes)
    return yield* Either.flatMap(parsed(bytes), readBody)
  })
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const parsed = (bytes: Uint8Array): Either.Either<unknown, ValidationFailed> =>
  Either.try({
    try: (): unknown => JSON.parse(utf8.decode(bytes)),
    catch: () => invalid("", "the body is not JSON in UTF-8")
  })
