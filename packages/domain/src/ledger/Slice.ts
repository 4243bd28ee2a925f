/**
 * Slices: the steps in which the hold of a stream grows (docs/reference/billing.md#i2).
 *
 * The output of a stream is set aside slice by slice. The next slice is requested when less than half of the last slice
 * is left, so that the next slice is durable before the stream needs it. Each slice is twice as large as the slice
 * before, up to a maximum: a short stream sets aside few tokens, and a long stream needs few transactions.
 */
import * as Tokens from "../money/Tokens.ts"

/** The maximum number of output tokens that a stream sets aside before it begins. */
export const FIRST_SLICE = Tokens.Tokens(1_024n)
const MAX_SLICE = Tokens.Tokens(65_536n)

export const nextSlice = (slice: Tokens.Tokens): Tokens.Tokens => Tokens.min(Tokens.Tokens(slice * 2n), MAX_SLICE)

/** Returns whether the next slice is due. `room` is the number of output tokens that the hold still covers. */
export const isSliceDue = (room: number, slice: Tokens.Tokens): boolean => room < Tokens.toCount(slice) / 2

/**
 * Returns the number of output tokens that a hold must cover after an extension, in addition to the sent output.
 * `waiting` is the number of tokens in a frame that waits to be delivered; 0 if no frame waits. The slice is added, so
 * that the next frames need not wait.
 */
export const extensionSize = (waiting: number, slice: Tokens.Tokens): Tokens.Tokens =>
  Tokens.add(Tokens.fromCount(waiting), slice)
