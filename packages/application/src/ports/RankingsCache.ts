/**
 * The newest rankings of each window, the same for all nodes: computed by one of them, once a minute.
 */
import type { Rankings } from "@tollgate/domain/rankings/Rankings"
import type { Window } from "@tollgate/domain/rankings/Window"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class RankingsCache extends Context.Tag("@tollgate/application/RankingsCache")<
  RankingsCache,
  {
    /** The document of the present minute that this node has at hand, without asking anybody. */
    readonly atHand: (window: Window) => Effect.Effect<Rankings | undefined>
    /**
     * The document of this window whose `generatedAt` is in the present minute of the database's clock. When there is none
     * yet, one caller over all nodes computes it, for that clock's time, and the others wait for it; when that caller
     * fails, nothing is kept and the next one may try. One who dies on the way is not waited for. A document of an earlier
     * minute is never given. Within a minute, a node gives the same object again without asking anybody.
     */
    readonly take: <E>(window: Window, compute: (now: Date) => Effect.Effect<Rankings, E>) => Effect.Effect<Rankings, E>
  }
>() {}
