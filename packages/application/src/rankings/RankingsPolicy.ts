/**
 * Whether this installation publishes rankings.
 */
import * as Context from "effect/Context"

export class RankingsPolicy extends Context.Tag("@tollgate/application/RankingsPolicy")<
  RankingsPolicy,
  { readonly enabled: boolean }
>() {}
