/**
 * Where a supplier's answer is put as it comes: one stretch of memory, with room before and after for a frame of ours, so
 * that a picture is never copied again.
 *
 * Most pictures are small. A larger one moves once, to where the largest would fit; memory that nothing is written to
 * costs nothing.
 */

/** 20 MiB are 28 in base64; the rest is for what stands around. */
export const ANSWER_BYTES = 29 * 1024 * 1024
export const USUAL_BYTES = 4 * 1024 * 1024
const HEAD_ROOM = 128
const TAIL_ROOM = 4_096

/** An answer from `start` up to, not including, `end`. */
export interface GatheredAnswer {
  readonly memory: Buffer
  readonly start: number
  readonly end: number
}

const roomFor = (bytes: number): Buffer => Buffer.allocUnsafeSlow(HEAD_ROOM + bytes + TAIL_ROOM)

export class AnswerMemory {
  #memory: Buffer = Buffer.alloc(0)
  #end = HEAD_ROOM

  get bytes(): number {
    return this.#end - HEAD_ROOM
  }

  /** False when there is no room for more. */
  take(piece: Buffer): boolean {
    const bytes = this.bytes + piece.length
    if (bytes > ANSWER_BYTES) return false
    if (HEAD_ROOM + bytes + TAIL_ROOM > this.#memory.length) {
      const larger = roomFor(bytes > USUAL_BYTES ? ANSWER_BYTES : USUAL_BYTES)
      this.#memory.copy(larger, 0, 0, this.#end)
      this.#memory = larger
    }
    this.#end += piece.copy(this.#memory, this.#end)
    return true
  }

  get gathered(): GatheredAnswer {
    return { memory: this.#memory, start: HEAD_ROOM, end: this.#end }
  }
}
