/**
 * `CollectedBody` collects the chunks of a body whose size the caller limits.
 *
 * A sender can cut a body into chunks of one byte. A buffer object for each byte would need more than a hundred times
 * the memory of the body. Therefore only the first {@link MAX_SMALL_CHUNKS} chunks and large chunks are kept without a
 * copy. Nearly every body consists of such chunks. The other chunks are copied into blocks.
 */

/** A chunk of less than {@link LARGE_BYTES} is copied if at least this number of chunks is collected already. */
const MAX_SMALL_CHUNKS = 32
const LARGE_BYTES = 4 * 1024
const BLOCK_BYTES = 16 * 1024
const EMPTY = Buffer.alloc(0)

export class CollectedBody {
  #chunks: Array<Buffer> = []
  #block = EMPTY
  /** The part of the block that contains copied bytes which are not in `#chunks` yet. */
  #copiedFrom = 0
  #copiedTo = 0
  /** The number of collected bytes. */
  bytes = 0

  push(chunk: Buffer): void {
    this.bytes += chunk.length
    if (this.#chunks.length < MAX_SMALL_CHUNKS || chunk.length >= LARGE_BYTES) {
      this.#endCopy()
      this.#chunks.push(chunk)
    } else this.#copy(chunk)
  }

  #copy(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#copiedTo === this.#block.length) {
        this.#endCopy()
        this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
        this.#copiedFrom = this.#copiedTo = 0
      }
      const copied = chunk.copy(this.#block, this.#copiedTo, at)
      this.#copiedTo += copied
      at += copied
    }
  }

  #endCopy(): void {
    if (this.#copiedFrom === this.#copiedTo) return
    this.#chunks.push(this.#block.subarray(this.#copiedFrom, this.#copiedTo))
    this.#copiedFrom = this.#copiedTo
  }

  /** Returns the whole body. */
  whole(): Buffer {
    this.#endCopy()
    const [first = EMPTY] = this.#chunks
    return this.#chunks.length <= 1 ? first : Buffer.concat(this.#chunks, this.bytes)
  }

  clear(): void {
    this.#chunks = []
    this.#block = EMPTY
    this.#copiedFrom = this.#copiedTo = 0
    this.bytes = 0
  }
}
