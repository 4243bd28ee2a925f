/**
 * Lists the connection pools of this process, for the metrics. A pool adds itself while it is open.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** The connections of a pool at one instant. */
export interface PoolLoad {
  readonly name: string
  readonly max: number
  readonly open: number
  readonly idle: number
  /** The number of callers that wait for a connection. */
  readonly waiting: number
}

export class OpenPools {
  readonly #pools = new Set<() => PoolLoad>()

  /** Lists a pool until the scope closes. */
  add(load: () => PoolLoad): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => void this.#pools.add(load)),
      () => Effect.sync(() => this.#pools.delete(load))
    )
  }

  get loads(): ReadonlyArray<PoolLoad> {
    return [...this.#pools].map((load) => load())
  }
}

/** The pools of this process. A `Context.Reference` has a default value, so no layer has to provide it. */
export class DatabasePools extends Context.Reference<DatabasePools>()("@tollgate/application/DatabasePools", {
  defaultValue: () => new OpenPools()
}) {}
