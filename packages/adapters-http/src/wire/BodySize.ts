/**
 * How much of a body a model reads: text, and attachments beside it.
 *
 * Embedded pictures and sounds are megabytes of base64 that cost a few hundred tokens. They are left out of the text,
 * but only where the protocol has media, and only when they look like base64 to their end: text that merely poses as
 * media must not be admitted for nothing.
 */

/** Where a protocol's bodies carry pictures, sounds and files. */
export interface MediaNames {
  /** Members that hold base64, bare or as a `data:` address. */
  readonly members: ReadonlyArray<string>
  /** Values of `type` that make an object an attachment. */
  readonly types: ReadonlyArray<string>
}

/** Anything shorter is counted as text, whatever it is. */
const MEDIA_FROM_BYTES = 1024
const ADDRESS_HEAD_BYTES = 256

const TYPE = Buffer.from("type")
const DATA_ADDRESS = Buffer.from("data:")
const COMMA = 0x2c
const SPACE = 0x20

const isBase64 = new Uint8Array(256)
// Some encoders write a slash as `\/`.
for (const byte of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\\"))
  isBase64[byte] = 1

/** {@link MediaNames} as bytes, prepared once. */
export interface Media {
  readonly members: ReadonlyArray<Buffer>
  readonly types: ReadonlyArray<Buffer>
}

export const mediaOf = ({ members, types }: MediaNames): Media => ({
  members: members.map((name) => Buffer.from(name)),
  types: types.map((name) => Buffer.from(name))
})

export class BodySize {
  /** Bytes of all string values but media, with escapes undone. */
  textBytes = 0
  attachments = 0
  readonly #media: Media

  constructor(media: Media) {
    this.#media = media
  }

  /**
   * One string value: where it stands between its quotes, where the name of its member stands (an empty stretch when
   * it is an element of an array), and how many bytes its escapes take more than what they stand for.
   */
  addString(bytes: Buffer, nameStart: number, nameEnd: number, start: number, end: number, surplus: number): void {
    const length = end - start
    if (length > MEDIA_FROM_BYTES) {
      if (isOneOf(this.#media.members, bytes, nameStart, nameEnd) && isMedia(bytes.subarray(start, end))) return
    } else if (
      nameEnd - nameStart === 4 &&
      equals(TYPE, bytes, nameStart) &&
      isOneOf(this.#media.types, bytes, start, end)
    ) {
      this.attachments += 1
    }
    this.textBytes += length - surplus
  }
}

const isOneOf = (words: ReadonlyArray<Buffer>, bytes: Buffer, start: number, end: number): boolean => {
  for (const word of words) if (word.length === end - start && equals(word, bytes, start)) return true
  return false
}

const equals = (word: Buffer, bytes: Buffer, start: number): boolean => {
  for (let i = 0; i < word.length; i++) if (bytes[start + i] !== word[i]) return false
  return true
}

const isMedia = (value: Buffer): boolean => {
  const data = equals(DATA_ADDRESS, value, 0) ? afterAddressHead(value) : value
  if (data === undefined) return false
  for (const byte of data.subarray(0, MEDIA_FROM_BYTES)) if (isBase64[byte] !== 1) return false
  return !data.includes(SPACE)
}

const afterAddressHead = (value: Buffer): Buffer | undefined => {
  const head = value.subarray(0, ADDRESS_HEAD_BYTES)
  const comma = head.indexOf(COMMA)
  return comma >= 0 && head.subarray(0, comma).toString("latin1").endsWith(";base64")
    ? value.subarray(comma + 1)
    : undefined
}
