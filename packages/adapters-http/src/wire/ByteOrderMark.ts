/**
 * Finds the UTF-8 byte order mark before a JSON text. RFC 8259 forbids it in messages, but permits a parser to ignore
 * it.
 *
 * The mark before a provider's response is ignored, because the official clients ignore it too: the client could
 * otherwise use the provider directly, but not through the gateway. The mark before a client's request is refused.
 * Anthropic's API refuses it too, and the gateway passes a request on byte for byte.
 */
export const hasByteOrderMark = (body: Buffer): boolean => body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf

export const withoutByteOrderMark = (body: Buffer): Buffer => (hasByteOrderMark(body) ? body.subarray(3) : body)
