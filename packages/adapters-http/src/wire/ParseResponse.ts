/**
 * Parses the whole response of a provider. A response of tiny values, such as `[{},{},{}]`, would need 20 times its
 * size in memory. Therefore the values are counted before the response is parsed.
 */

/** The maximum number of values in a response. A response with log probabilities has up to some millions of values. */
const MAX_VALUES = 4_000_000

const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const OPEN_OBJECT = 0x7b

/**
 * Returns true if the body has more than `maxValues` commas and opening brackets. One of these characters precedes each
 * value except the outermost. Commas and brackets inside texts are counted too, so the count can be too large.
 */
export const couldExceedValues = (body: Buffer, maxValues: number): boolean => {
  if (body.length <= maxValues) return false
  let values = 0
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]
    if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      values += 1
      if (values > maxValues) return true
    }
  }
  return false
}

/** Returns true if {@link parseResponse} refuses the body because of its number of values. */
export const hasTooManyValues = (body: Buffer): boolean => couldExceedValues(body, MAX_VALUES)

/** Parses a body. Throws if it is not valid JSON, or if it could contain more than {@link MAX_VALUES} values. */
export const parseResponse = (body: Buffer): unknown => {
  if (hasTooManyValues(body)) throw new RangeError(`the response has more than ${MAX_VALUES} values`)
  return JSON.parse(body.toString())
}
