/**
 * Work on many rows, chunk by chunk until nothing is left. A chunk that the database refuses is made smaller until one
 * row is to blame, which is passed over.
 *
 * It does not wait for a database that is away: what is to be done is another question when it is back.
 */
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { isConnectionLost, isTransient } from "../client/SqlErrorClass.ts"
import { afterBackoff } from "../client/Transact.ts"

/** Does one chunk in one transaction; `locked` is told which rows it is about. How many it did; 0 ends the work. */
export type Chunk = (
  passedOver: ReadonlyArray<RequestId>,
  atMost: number,
  locked: (requestIds: ReadonlyArray<RequestId>) => void
) => Promise<number>

const TROUBLES = 5

/** How many were done. */
export const inChunks = async (
  mostAtOnce: number,
  chunk: Chunk,
  passOver: (requestIds: ReadonlyArray<RequestId>, error: unknown) => void
): Promise<number> => {
  const passedOver: Array<RequestId> = []
  let done = 0
  let atOnce = mostAtOnce
  let troubles = 0
  for (;;) {
    let taken: ReadonlyArray<RequestId> = []
    try {
      const some = await chunk(passedOver, atOnce, (requestIds) => {
        taken = requestIds
      })
      if (some === 0) return done
      done += some
      atOnce = Math.min(mostAtOnce, atOnce * 2)
    } catch (error) {
      if (isTransient(error) && !isConnectionLost(error) && ++troubles <= TROUBLES) {
        await afterBackoff(troubles)
        continue
      }
      if (isTransient(error) || taken.length === 0) throw error
      if (taken.length === 1) {
        passOver(taken, error)
        passedOver.push(...taken)
      }
      atOnce = Math.ceil(taken.length / 2)
    }
  }
}
