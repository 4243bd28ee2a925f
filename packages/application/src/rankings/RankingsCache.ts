/**
 * The rankings of the present minute, the same for all nodes: computed by one of them, once.
 */
import type { Rankings } from "@tollgate/domain/rankings/Rankings"
import type { RankingsByWindow } from "@tollgate/domain/rankings/RankUsage"
import type { Window } from "@tollgate/domain/rankings/Window"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class RankingsCache extends Context.Tag("@tollgate/application/RankingsCache")<
  RankingsCache,
  {
    /** The document of the present minute that this node has at hand, without asking anybody. */
    readonly atHand: (window: Window) => Effect.Effect<Rankings | undefined>
    /**
     * The documents whose `generatedAt` is in the present minute of the database's clock. When there are none yet, one
     * caller over all nodes computes them, for that clock's time, and the others wait for it; when that caller fails,
     * nothing is kept and the next one may try. One who dies on the way is not waited for. Documents of an earlier minute
     * are never given. Within a minute, a node gives the same objects again without asking anybody.
     */
    readonly take: <E>(compute: (now: Date) => Effect.Effect<RankingsByWindow, E>) => Effect.Effect<RankingsByWindow, E>
  }
>() {}
