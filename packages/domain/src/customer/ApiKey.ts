/**
 * An API key identifies the user whose balances pay for a request.
 *
 *     tg_3vQx0sYb7HkLw2Zp_<43 characters of 32 random bytes><6 characters of checksum>
 *     └┬┘└──────┬───────┘ └──────────────────┬──────────────────────────────────────┘
 *   prefix   public id                   secret part, shown once
 *
 * With the checksum, the server detects a mistyped key without a database query. A secret scanner that searches for
 * `<prefix>_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}` can use the checksum to distinguish leaked keys from other texts.
 */
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Position } from "../validation/Cursor.ts"
import type { Email } from "../validation/Email.ts"
import type { KeyLimits, LocalLimits } from "./KeyLimits.ts"
import type { UserId } from "./User.ts"

export const ApiKeyId = Schema.UUID.pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type

export interface ApiKey {
  readonly id: ApiKeyId
  readonly publicId: string
  readonly userId: UserId
  readonly name: string
  readonly createdAt: Date
  readonly revokedAt: Date | undefined
  readonly limits: KeyLimits
}

/** A key in a list, with its owner and its last use. */
export interface ListedKey extends ApiKey {
  /** The creation time and the id of the key. */
  readonly position: Position
  readonly email: Email
  /** The first part of the key, `<key_prefix>_<public_id>`, which is not secret. */
  readonly prefix: string
  /** The time of a recent use; undefined if no use is known (docs/reference/reseller.md#k2). */
  readonly lastUsedAt: Date | undefined
}

/** The API key of an authenticated request, and the user who owns the key. */
export interface Principal {
  readonly keyId: ApiKeyId
  readonly userId: UserId
  /** The limits that a node checks without the ledger; undefined if the key has no limit. */
  readonly limits?: LocalLimits
}

/** No key has this id. */
export class ApiKeyNotFound extends Schema.TaggedError<ApiKeyNotFound>()("ApiKeyNotFound", { keyId: Schema.String }) {}

/** The two parts of a key: the public id selects the stored key, the secret part proves possession of the key. */
export interface KeyMaterial {
  readonly publicId: string
  readonly secretPart: Redacted.Redacted<string>
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const digitOf = new Map([...DIGITS].map((digit, value) => [BigInt(value), digit]))

/** Returns the lowest `width` base-62 digits of a number. */
export const fixedWidth = (value: bigint, width: number): string => {
  let rest = value
  let text = ""
  for (let i = 0; i < width; i++) {
    text = digitOf.get(rest % 62n) + text
    rest /= 62n
  }
  return text
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc >>> 0
})

/** Computes the CRC-32 checksum (IEEE 802.3). */
export const crc32 = (data: string | Uint8Array): number => {
  let crc = 0xffffffff
  for (const byte of typeof data === "string" ? new TextEncoder().encode(data) : data)
    crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}

const PUBLIC_ID = /^[0-9A-Za-z]{16}$/
const SECRET_PART = /^[0-9A-Za-z]{49}$/
export const MAX_LENGTH = 512

const checksum = (prefix: string, publicId: string, random: string): string =>
  fixedWidth(BigInt(crc32(`${prefix}_${publicId}_${random}`)), 6)

/** Returns the text of a key in the form that the customer receives. */
export const render = (prefix: string, key: KeyMaterial): Redacted.Redacted<string> =>
  Redacted.make(`${prefix}_${key.publicId}_${Redacted.value(key.secretPart)}`)

/** Creates a key from 44 random bytes. */
export const generateKey = (prefix: string, random: Uint8Array): KeyMaterial => {
  const publicId = fixedWidth(toInteger(random.subarray(0, 12)), 17).slice(-16)
  const secret = fixedWidth(toInteger(random.subarray(12, 44)), 43)
  return { publicId, secretPart: Redacted.make(secret + checksum(prefix, publicId, secret)) }
}

/** Parses the text of a key. Rejects a text with a wrong form or a wrong checksum. */
export const parse = (prefix: string, text: string): Either.Either<KeyMaterial, "malformed"> => {
  if (text.length > MAX_LENGTH || !text.startsWith(`${prefix}_`)) return Either.left("malformed")
  const [publicId = "", secretPart = "", ...more] = text.slice(prefix.length + 1).split("_")
  if (more.length > 0 || !PUBLIC_ID.test(publicId) || !SECRET_PART.test(secretPart)) return Either.left("malformed")
  if (checksum(prefix, publicId, secretPart.slice(0, 43)) !== secretPart.slice(43)) return Either.left("malformed")
  return Either.right({ publicId, secretPart: Redacted.make(secretPart) })
}

const toInteger = (bytes: Uint8Array): bigint => bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
