/**
 * Limits the concurrent requests per provider in this process, and keeps one circuit breaker per provider.
 *
 * The slots and the breaker are stored per provider name and survive a change of the catalog. Each request carries the
 * current settings, so a change applies immediately. A route on which the provider refused our API key or our account
 * is disabled for a minute, or until the catalog is replaced, because a new catalog has new route objects.
 */
import type { Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { Route } from "@tollgate/domain/catalog/Model"
import type { ProviderName } from "@tollgate/domain/catalog/Provider"
import * as Breaker from "@tollgate/domain/inference/Breaker"
import { CircuitOpen, Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { retryAfterSecondsOf } from "@tollgate/domain/validation/RequestErrors"
import * as Either from "effect/Either"

/** The permission for one request to call the provider. */
export interface Slot {
  /**
   * Reports that the upstream has begun to respond. A probe closes the breaker now, however long the response takes.
   */
  readonly answered: () => void
  /** Releases the slot with the verdict. Only the first call counts. */
  readonly leave: (verdict: Verdict) => void
}

/** Events for the log. */
export type GateNotice =
  | { readonly notice: "breaker opened" | "breaker closed"; readonly provider: ProviderName }
  | { readonly notice: "route taken off"; readonly provider: ProviderName; readonly upstreamModel: string }

export interface GateOptions {
  /** A monotonic clock with an arbitrary epoch. */
  readonly nowMillis: () => number
  readonly onNotice: (notice: GateNotice) => void
}

export interface ProviderGate {
  readonly enter: (candidate: Candidate) => Either.Either<Slot, Overloaded | CircuitOpen | UpstreamFailed>
}

export const ROUTE_OFF_MILLIS = 60_000
const RETRY_WHEN_FULL_SECONDS = 1

interface ProviderState {
  taken: number
  breaker: Breaker.Breaker
  /** The probe: the one request that a half-open breaker admitted. */
  probe: Slot | undefined
}

export const make = ({ nowMillis, onNotice }: GateOptions): ProviderGate => {
  const providers = new Map<ProviderName, ProviderState>()
  const offUntilMillis = new WeakMap<Route, number>()

  const isOff = (route: Route): boolean => {
    const until = offUntilMillis.get(route)
    return until !== undefined && nowMillis() < until
  }

  const takeOff = (route: Route) => {
    if (!isOff(route)) {
      onNotice({ notice: "route taken off", provider: route.provider, upstreamModel: route.upstreamModel })
    }
    offUntilMillis.set(route, nowMillis() + ROUTE_OFF_MILLIS)
  }

  const move = (name: ProviderName, state: ProviderState, next: Breaker.Breaker) => {
    const before = state.breaker.state
    state.breaker = next
    if (next.state === "open" && before === "closed") onNotice({ notice: "breaker opened", provider: name })
    if (next.state === "closed" && before !== "closed") onNotice({ notice: "breaker closed", provider: name })
  }

  return {
    enter: ({ provider, route }) => {
      const { name, breaker: settings, maxConcurrency } = provider
      if (isOff(route)) return Either.left(new UpstreamFailed({ cause: `the route to ${name} is disabled` }))
      const state = providers.get(name) ?? { taken: 0, breaker: Breaker.closed, probe: undefined }
      const passage = Breaker.pass(state.breaker, settings, nowMillis())
      if (!passage.admitted) {
        return Either.left(new CircuitOpen({ retryAfterSeconds: retryAfterSecondsOf(passage.retryAfterMillis) }))
      }
      if (state.taken >= maxConcurrency) {
        return Either.left(new Overloaded({ retryAfterSeconds: RETRY_WHEN_FULL_SECONDS }))
      }

      let left = false
      const slot: Slot = {
        answered: () => {
          if (left || state.probe !== slot) return
          state.probe = undefined
          move(name, state, Breaker.served(state.breaker))
        },
        leave: (verdict) => {
          if (left) return
          left = true
          state.taken -= 1
          if (verdict === "misconfigured") takeOff(route)
          // While a breaker is open or half-open, only the probe counts: a request that started earlier does not show
          // the current state of the provider.
          if (state.breaker.state === "closed" || state.probe === slot) {
            move(name, state, judge(state.breaker, verdict, settings, nowMillis()))
          }
          if (state.probe === slot) state.probe = undefined
          if (state.taken === 0 && state.breaker === Breaker.closed) providers.delete(name)
        }
      }
      state.taken += 1
      state.breaker = passage.breaker
      if (passage.breaker.state === "half_open") state.probe = slot
      providers.set(name, state)
      return Either.right(slot)
    }
  }
}

const judge = (
  breaker: Breaker.Breaker,
  verdict: Verdict,
  settings: Breaker.BreakerSettings,
  nowMillis: number
): Breaker.Breaker => {
  switch (verdict) {
    case "failed":
      return Breaker.failed(breaker, settings, nowMillis)
    case "undecided":
      return Breaker.undecided(breaker, nowMillis)
    // A provider that refuses our account is reachable, so the breaker counts a success.
    case "served":
    case "misconfigured":
      return Breaker.served(breaker)
  }
}
