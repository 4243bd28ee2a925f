/**
 * Collects a provider's response in a buffer that has free space before and after the response. The gateway
 * overwrites the members around the image with its own members, which can be longer, and need not copy the image.
 *
 * Most images are small, so the buffer first has the usual size. A larger response is copied once, to a buffer of the
 * maximum size. The unused part of that buffer costs nothing, because the operating system provides memory only when it
 * is written.
 */

/**
 * The maximum size of a response in bytes: 27 MiB for an image of 20 MiB in base64, and enough for the other members.
 */
export const MAX_RESPONSE_BYTES = 29 * 1024 * 1024
export const USUAL_RESPONSE_BYTES = 4 * 1024 * 1024
const HEAD_ROOM = 128
const TAIL_ROOM = 4_096

/** A response, which is the bytes of `memory` from `start` (inclusive) to `end` (exclusive). */
export interface BufferedResponse {
  readonly memory: Buffer
  readonly start: number
  readonly end: number
}

const allocate = (bytes: number): Buffer => Buffer.allocUnsafeSlow(HEAD_ROOM + bytes + TAIL_ROOM)

export class ResponseBuffer {
  #memory: Buffer = Buffer.alloc(0)
  #end = HEAD_ROOM

  get bytes(): number {
    return this.#end - HEAD_ROOM
  }

  /** Appends a chunk. Returns false and appends nothing if the response would become too large. */
  append(chunk: Buffer): boolean {
    const bytes = this.bytes + chunk.length
    if (bytes > MAX_RESPONSE_BYTES) return false
    if (HEAD_ROOM + bytes + TAIL_ROOM > this.#memory.length) {
      const larger = allocate(bytes > USUAL_RESPONSE_BYTES ? MAX_RESPONSE_BYTES : USUAL_RESPONSE_BYTES)
      this.#memory.copy(larger, 0, 0, this.#end)
      this.#memory = larger
    }
    this.#end += chunk.copy(this.#memory, this.#end)
    return true
  }

  get response(): BufferedResponse {
    return { memory: this.#memory, start: HEAD_ROOM, end: this.#end }
  }
}
