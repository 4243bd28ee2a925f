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
import { MAX_DEPTH } from "../wire/JsonReader.ts"

/**
 * `check` can refuse the text of a body that is valid JSON, for example because the text contains a member twice.
 */
export const jsonBody = <A, I, E = never>(
  schema: Schema.Schema<A, I>,
  maxBytes: number = MAX_BODY_BYTES,
  check: (text: string) => Either.Either<unknown, E> = Either.right
) => {
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
    const { text, value } = yield* parsed(bytes)
    if (isNestedTooDeep(value)) return yield* invalid("", `the body is nested more than ${MAX_DEPTH} levels deep`)
    yield* check(text)
    return yield* readBody(value)
  })
}

/** The schema library describes a wrong value recursively, so a value with thousands of levels exhausts the stack. */
const isNestedTooDeep = (value: unknown): boolean => {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true
    level = level.flatMap(
      (each): Array<unknown> => (typeof each === "object" && each !== null ? Object.values(each) : [])
    )
  }
  return false
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

interface Parsed {
  readonly text: string
  readonly value: unknown
}

const parsed = (bytes: Uint8Array): Either.Either<Parsed, ValidationFailed> =>
  Either.try({
    try: (): Parsed => {
      const text = utf8.decode(bytes)
      return { text, value: JSON.parse(text) }
    },
    catch: () => invalid("", "the body is not JSON in UTF-8")
  })
