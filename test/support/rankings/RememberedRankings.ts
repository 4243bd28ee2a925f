/**
 * Provides the rankings ports over a generated usage history, without a database.
 */
import { RankingsCache, RankingsHistory, RankingsPolicy } from "@tollgate/application/rankings/ReadRankings"
import type { RankingsByWindow } from "@tollgate/domain/rankings/RankUsage"
import { Effect, Layer } from "effect"
import * as BelievableHistory from "./BelievableHistory.ts"

export class RememberedRankings {
  enabled = true
  /** True if the history contains any usage. */
  used = true
  readable = true
  /** The display name of all models. Undefined keeps the name of each model. */
  displayName: string | undefined
  /** The number of times that the rankings were computed. */
  computed = 0
  #kept: RankingsByWindow | undefined

  /** Empties the cache, as the start of the next minute does. */
  forget(): void {
    this.#kept = undefined
  }

  reset(): void {
    this.enabled = true
    this.used = true
    this.readable = true
    this.displayName = undefined
    this.computed = 0
    this.forget()
  }

  get layer(): Layer.Layer<RankingsPolicy | RankingsHistory | RankingsCache> {
    const own = this
    return Layer.mergeAll(
      Layer.succeed(RankingsPolicy, {
        get enabled() {
          return own.enabled
        }
      }),
      Layer.succeed(RankingsHistory, {
        read: (_, ask) =>
          Effect.sync(() => {
            if (!own.readable) throw new Error("the usage history cannot be read")
            if (own.used) {
              const { models, ...history } = BelievableHistory.read(ask)
              return {
                ...history,
                models: models.map((model) => ({ ...model, displayName: own.displayName ?? model.displayName }))
              }
            }
            return { firstUse: undefined, cuts: ask(undefined).cuts, models: [] }
          })
      }),
      Layer.succeed(RankingsCache, {
        inMemory: (window) => Effect.sync(() => own.#kept?.get(window)),
        take: (compute) =>
          Effect.suspend(() => {
            if (own.#kept !== undefined) return Effect.succeed(own.#kept)
            own.computed += 1
            return Effect.tap(compute(BelievableHistory.now), (made) =>
              Effect.sync(() => {
                own.#kept = made
              })
            )
          })
      })
    )
  }
}
