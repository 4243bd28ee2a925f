/**
 * `CollectedBody` collects the chunks of a body whose size the caller limits.
 *
 * A sender can cut a body into chunks of one byte. A buffer object for each byte would need more than a hundred times
 * the memory of the body. Therefore only the first {@link MAX_CHUNKS} chunks are kept without a copy. Nearly every body
 * has fewer chunks. Further chunks are copied into one block, whose size is at least doubled when a chunk does not fit.
 */

/** The number of chunks that are kept without a copy. */
const MAX_CHUNKS = 32
const EMPTY = Buffer.alloc(0)

export class CollectedBody {
  #chunks: Array<Buffer> = []
  #block = EMPTY
  #blockBytes = 0
  /** The number of collected bytes. */
  bytes = 0

  push(chunk: Buffer): void {
    this.bytes += chunk.length
    if (this.#chunks.length < MAX_CHUNKS) {
      this.#chunks.push(chunk)
      return
    }
    const needed = this.#blockBytes + chunk.length
    if (needed > this.#block.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#block.length, 4_096))
      this.#block.copy(larger, 0, 0, this.#blockBytes)
      this.#block = larger
    }
    this.#blockBytes += chunk.copy(this.#block, this.#blockBytes)
  }

  /** Returns the whole body. */
  whole(): Buffer {
    const [first = EMPTY] = this.#chunks
    if (this.#chunks.length <= 1) return first
    return Buffer.concat([...this.#chunks, this.#block.subarray(0, this.#blockBytes)], this.bytes)
  }

  clear(): void {
    this.#chunks = []
    this.#block = EMPTY
    this.#blockBytes = 0
    this.bytes = 0
  }
}
