/**
 * Measures a body as a model reads it: the number of UTF-8 bytes of text and the number of attachments.
 *
 * An embedded image or sound can have megabytes of base64 but costs far fewer tokens than such a text, so its base64
 * does not count as text. This exception applies only to values of the protocol's media members that are longer than
 * 1024 bytes, begin with base64 (after the head of a `data:` URL) and contain no space. Otherwise a client could
 * disguise text as media, and the hold (the money set aside for the request) would be too small.
 */
import { BACKSLASH } from "./JsonEscapes.ts"
import type { TextSamples } from "./TextSamples.ts"

/** Names with which the bodies of one protocol mark images, sounds and files. */
export interface MediaNames {
  /** Names of the members whose values are base64, bare or as a `data:` URL. */
  readonly members: ReadonlyArray<string>
  /** Values of `type` that mark an object as an attachment. */
  readonly types: ReadonlyArray<string>
  /** Values of `type` that mark an object as content whose number of tokens cannot be estimated from the body. */
  readonly unsizedTypes?: ReadonlyArray<string>
  /** Values of `type` that mark an object in the prompt as a definition of tools. */
  readonly toolTypes?: ReadonlyArray<string>
  /** Names of the members whose values no model reads, such as ids. */
  readonly unread?: ReadonlyArray<string>
}

/** Values up to this size in bytes count as text, even if they are base64. */
const MIN_MEDIA_BYTES = 1024
const MAX_DATA_URL_HEAD_BYTES = 256

/** Two quotes or brackets, and a comma. */
export const PUNCTUATION_BYTES = 3

const TYPE = "type"
const TYPE_BYTES = Buffer.from(TYPE)
/** The number of bytes by which `\u0074` is longer than `t`. */
const SURPLUS_OF_ESCAPE = 5
const MAX_TYPE_NAME_BYTES = TYPE.length * (1 + SURPLUS_OF_ESCAPE)
const DATA_SCHEME = Buffer.from("data:")
const COMMA = 0x2c
const SPACE = 0x20

const isBase64 = new Uint8Array(256)
// The backslash is included because some encoders write a slash as `\/`.
for (const byte of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\\"))
  isBase64[byte] = 1

/** {@link MediaNames} converted to bytes. */
export interface Media {
  readonly members: ReadonlyArray<Buffer>
  readonly types: ReadonlyArray<Buffer>
  readonly unsizedTypes: ReadonlyArray<Buffer>
  readonly toolTypes: ReadonlyArray<Buffer>
  readonly unread: ReadonlyArray<Buffer>
}

export const mediaOf = ({ members, types, unsizedTypes = [], toolTypes = [], unread = [] }: MediaNames): Media => ({
  members: members.map((name) => Buffer.from(name)),
  types: types.map((name) => Buffer.from(name)),
  unsizedTypes: unsizedTypes.map((name) => Buffer.from(name)),
  toolTypes: toolTypes.map((name) => Buffer.from(name)),
  unread: unread.map((name) => Buffer.from(name))
})

export class BodySize {
  /** Number of UTF-8 bytes of all string values except media. Escapes count as the characters that they encode. */
  textBytes = 0
  /** The part of `textBytes` that no model reads. It has no samples. */
  unreadBytes = 0
  /**
   * Number of bytes outside the texts: member names, numbers, `true`, `false`, `null` and punctuation, but no white
   * space. Each value has {@link PUNCTUATION_BYTES}.
   */
  structureBytes = 0
  attachments = 0
  /** Number of objects whose number of tokens cannot be estimated from the body. */
  unsized = 0
  /** Number of objects that define tools. */
  toolDefinitions = 0
  readonly #media: Media
  readonly #samples: TextSamples | undefined

  /** `samples` receives every string value that counts as text and that a model reads. */
  constructor(media: Media, samples?: TextSamples) {
    this.#media = media
    this.#samples = samples
  }

  /**
   * Adds one string value. `start` and `end` are the positions of the value between its quotes. `nameStart` and
   * `nameEnd` are the positions of the member name, and are equal for an array element. `surplus` is the number of
   * bytes by which the escapes in the value are longer than the characters that they encode.
   */
  addString(bytes: Buffer, nameStart: number, nameEnd: number, start: number, end: number, surplus: number): void {
    const length = end - start
    this.structureBytes += PUNCTUATION_BYTES
    if (length > MIN_MEDIA_BYTES) {
      if (isOneOf(this.#media.members, bytes, nameStart, nameEnd) && isMedia(bytes.subarray(start, end))) return
    } else if (isTypeName(bytes, nameStart, nameEnd)) {
      if (surplus === 0) this.#addType(bytes, start, end)
      else {
        const type = Buffer.from(unescaped(bytes, start, end))
        this.#addType(type, 0, type.length)
      }
    }
    const isUnread = isOneOf(this.#media.unread, bytes, nameStart, nameEnd)
    if (isUnread) this.unreadBytes += length - surplus
    else this.#samples?.add(start, end, this.textBytes - this.unreadBytes, length - surplus)
    this.textBytes += length - surplus
  }

  #addType(bytes: Buffer, start: number, end: number): void {
    if (isOneOf(this.#media.types, bytes, start, end)) this.attachments += 1
    if (isOneOf(this.#media.unsizedTypes, bytes, start, end)) this.unsized += 1
    if (isOneOf(this.#media.toolTypes, bytes, start, end)) this.toolDefinitions += 1
  }
}

/** Returns true if a name is `type`. The name can have escapes, which providers decode. */
const isTypeName = (bytes: Buffer, start: number, end: number): boolean => {
  const length = end - start
  if (length === TYPE_BYTES.length) return equals(TYPE_BYTES, bytes, start)
  if (length > MAX_TYPE_NAME_BYTES || length % SURPLUS_OF_ESCAPE !== TYPE_BYTES.length) return false
  const first = bytes[start]
  return (first === TYPE_BYTES[0] || first === BACKSLASH) && unescaped(bytes, start, end) === TYPE
}

const unescaped = (bytes: Buffer, start: number, end: number): string =>
  JSON.parse(`"${bytes.toString("utf8", start, end)}"`)

const isOneOf = (words: ReadonlyArray<Buffer>, bytes: Buffer, start: number, end: number): boolean => {
  for (const word of words) if (word.length === end - start && equals(word, bytes, start)) return true
  return false
}

const equals = (word: Buffer, bytes: Buffer, start: number): boolean => {
  for (let i = 0; i < word.length; i++) if (bytes[start + i] !== word[i]) return false
  return true
}

const isMedia = (value: Buffer): boolean => {
  const data = equals(DATA_SCHEME, value, 0) ? afterDataUrlHead(value) : value
  if (data === undefined) return false
  for (const byte of data.subarray(0, MIN_MEDIA_BYTES)) if (isBase64[byte] !== 1) return false
  return !data.includes(SPACE)
}

const afterDataUrlHead = (value: Buffer): Buffer | undefined => {
  const head = value.subarray(0, MAX_DATA_URL_HEAD_BYTES)
  const comma = head.indexOf(COMMA)
  return comma >= 0 && head.subarray(0, comma).toString("latin1").endsWith(";base64")
    ? value.subarray(comma + 1)
    : undefined
}
