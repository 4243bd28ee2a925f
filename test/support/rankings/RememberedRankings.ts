/**
 * Rankings of the believable history, kept in this process; a test can make them fail, or empty, or switch them off.
 */
import { RankingsCache } from "@tollgate/application/ports/RankingsCache"
import { RankingsHistory } from "@tollgate/application/ports/RankingsHistory"
import { RankingsPolicy } from "@tollgate/application/rankings/RankingsPolicy"
import type { Rankings } from "@tollgate/domain/rankings/Rankings"
import type { Window } from "@tollgate/domain/rankings/Window"
import { Effect, Layer } from "effect"
import * as BelievableHistory from "./BelievableHistory.ts"

export class RememberedRankings {
  enabled = true
  /** Whether there was ever any usage. */
  used = true
  readable = true
  /** What every model is called by people, when not by its own name. */
  displayName: string | undefined
  /** How often rankings were computed, by window. */
  readonly computed = new Map<Window, number>()
  #kept = new Map<Window, Rankings>()

  /** As if a minute had passed. */
  forget(): void {
    this.#kept.clear()
  }

  /** As it was made. */
  reset(): void {
    this.enabled = true
    this.used = true
    this.readable = true
    this.displayName = undefined
    this.computed.clear()
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
            if (!own.readable) throw new Error("the disk is on fire")
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
        atHand: (window) => Effect.sync(() => own.#kept.get(window)),
        take: (window, compute) =>
          Effect.suspend(() => {
            const known = own.#kept.get(window)
            if (known !== undefined) return Effect.succeed(known)
            own.computed.set(window, (own.computed.get(window) ?? 0) + 1)
            return Effect.tap(compute(BelievableHistory.now), (made) => own.#kept.set(window, made))
          })
      })
    )
  }
}
