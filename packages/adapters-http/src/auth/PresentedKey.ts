/**
 * The key a request presents: `Authorization: Bearer` or `x-api-key`, on every inference route (gap B1).
 *
 * Clients send either, some both; equal values are one key, different ones are none. Node folds repeated headers (of
 * `authorization` it keeps the first), so the headers are read as they came.
 */
import { MAX_LENGTH } from "@tollgate/domain/customer/ApiKey"
import { InvalidApiKey } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"

const BEARER = /^bearer(?:\s+(.*))?$/is

/**
 * Reads the names and values as they alternate in `IncomingMessage.rawHeaders`. Given the connection they came over, the
 * same key is wrapped once for all its requests: what is redacted costs the garbage collector more than anything else.
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
    // Most headers are told apart by their length alone.
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

/** The last key of every connection. */
const lastKeys = new WeakMap<object, Wrapped>()

const wrapped = (key: string, connection: object | undefined): Wrapped => {
  const last = connection && lastKeys.get(connection)
  if (last?._tag === "Right" && Redacted.value(last.right) === key) return last
  const first = Either.right(Redacted.make(key))
  if (connection !== undefined) lastKeys.set(connection, first)
  return first
}
