/**
 * Reads the API key of a request under `/v1` from `Authorization: Bearer` or `x-api-key`
 * (docs/reference/inference.md#b1).
 *
 * Clients send one of these headers or both. Equal keys count as one key. Different keys are an error, and so is a key
 * beside an `authorization` header with another scheme. The raw headers are read, because Node.js joins repeated
 * `x-api-key` headers and keeps only the first `authorization` header.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { MAX_LENGTH, type Principal } from "@tollgate/domain/customer/ApiKey"
import { InvalidApiKey, type Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"

const BEARER = /^bearer(?:\s+(.*))?$/is

/**
 * Returns the API key in `rawHeaders`, an array in which header names and values alternate. If `connection` (the
 * socket) is given, consecutive requests of that connection with the same key share one `Redacted` value, because
 * `Redacted` values are expensive for the garbage collector.
 */
export const presentedKey = (
  rawHeaders: ReadonlyArray<string>,
  connection?: object
): Either.Either<Redacted.Redacted<string>, InvalidApiKey> => {
  let key: string | undefined
  let otherScheme = false
  let conflicting = false
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    // Comparing lengths first avoids lower-casing the names of most headers.
    const isBearer = name.length === 13 && name.toLowerCase() === "authorization"
    if (!isBearer && !(name.length === 9 && name.toLowerCase() === "x-api-key")) continue
    const value = (rawHeaders[i + 1] as string).trim()
    const bearer = isBearer ? BEARER.exec(value) : undefined
    if (bearer === null) {
      otherScheme ||= value !== ""
      continue
    }
    const presented = bearer === undefined ? value : (bearer[1] ?? "").trim()
    if (presented === "") continue
    conflicting ||= key !== undefined && key !== presented
    key = presented
  }
  if (key === undefined) return Either.left(new InvalidApiKey({ reason: "missing" }))
  if (conflicting || otherScheme) return Either.left(new InvalidApiKey({ reason: "conflicting" }))
  return key.length > MAX_LENGTH ? Either.left(new InvalidApiKey({ reason: "unknown" })) : wrapped(key, connection)
}

type Wrapped = Either.Either<Redacted.Redacted<string>, never>

/** The key that `presentedKey` returned last for each connection. */
const lastKeys = new WeakMap<object, Wrapped>()

const wrapped = (key: string, connection: object | undefined): Wrapped => {
  const last = connection && lastKeys.get(connection)
  if (last?._tag === "Right" && Redacted.value(last.right) === key) return last
  const first = Either.right(Redacted.make(key))
  if (connection !== undefined) lastKeys.set(connection, first)
  return first
}

/**
 * Authenticates a request to a route of the HttpApi. Returns the principal: the ids of the API key and of the customer
 * that owns it, and the limits of the key that a node checks without the ledger.
 */
export const caller: Effect.Effect<
  Principal,
  InvalidApiKey | Overloaded,
  ApiKeyAuthenticator | HttpServerRequest.HttpServerRequest
> = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const presented = yield* presentedKey(NodeHttpServerRequest.toIncomingMessage(request).rawHeaders)
  return yield* (yield* ApiKeyAuthenticator).authenticate(presented)
})
