/**
 * Gives up image requests whose lease has passed, so that the node that died with one does not keep its customer from
 * the next; and forgets idempotency keys when their time is over.
 *
 * Any number of nodes may do so. A customer who is in a hurry does not depend on it: the next request gives up the last.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { ImageRequests } from "../images/ImageRequests.ts"
import { every } from "./BackgroundTask.ts"

/** Never ends; interrupt it to stop. */
export const imageLeaseReaper = (
  abandonEvery: Duration.DurationInput = "5 seconds",
  forgetEvery: Duration.DurationInput = "1 hour"
): Effect.Effect<void, never, ImageRequests> =>
  Effect.flatMap(ImageRequests, ({ abandon, forgetKeys }) => {
    const abandoned = Effect.tap(abandon, (count) =>
      count > 0 ? Effect.logWarning("gave up image requests whose lease had passed", { count }) : Effect.void
    )
    return Effect.all(
      [
        every(abandonEvery, "image requests were not given up", abandoned),
        every(forgetEvery, "idempotency keys were not forgotten", forgetKeys)
      ],
      { concurrency: "unbounded", discard: true }
    )
  })
