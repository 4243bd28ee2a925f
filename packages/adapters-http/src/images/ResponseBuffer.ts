/**
 * The buffer that collects a provider's response. It has room before and after the response for the gateway's JSON
 * members, so that the image need not be copied.
 *
 * Most images are small. A larger response is copied once, to a buffer of the maximum size; the operating system does
 * not back memory that is never written.
 */

/** The maximum size of a response: a 20 MiB image is about 27 MiB of base64; the rest is for the other members. */
export const MAX_RESPONSE_BYTES = 29 * 1024 * 1024
export const USUAL_RESPONSE_BYTES = 4 * 1024 * 1024
const HEAD_ROOM = 128
const TAIL_ROOM = 4_096

/** A response at `start` (inclusive) to `end` (exclusive) of `memory`. */
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

  /** Appends a chunk. Returns false if the response becomes too large. */
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
