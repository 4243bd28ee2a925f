/**
 * Changes a few places of a body and leaves every other byte as it is.
 */

/** What stands from `start` up to `end` gives way to `text`; an empty stretch is an insertion. */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The splices must not overlap. */
export const splice = (body: Buffer, splices: ReadonlyArray<Splice>): Buffer => {
  const inOrder = splices.length === 1 ? splices : [...splices].sort((a, b) => a.start - b.start)
  const parts: Array<Buffer> = []
  let kept = 0
  for (const { start, end, text } of inOrder) {
    parts.push(body.subarray(kept, start), Buffer.from(text))
    kept = end
  }
  parts.push(body.subarray(kept))
  return Buffer.concat(parts)
}
