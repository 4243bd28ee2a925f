/**
 * Limits the concurrent requests to each provider from this process, and keeps one circuit breaker per provider.
 *
 * A request occupies one slot of its provider until the slot is released. The number of occupied slots and the circuit
 * breaker are stored under the provider's name, so a change of the catalog does not reset them. The caller passes the
 * current settings of the provider with each request, so changed settings apply to the next request.
 *
 * If the provider refuses the gateway's API key or account on a route, the route is disabled for a minute. If the
 * catalog is replaced within this minute, the route is enabled again, because a new catalog has new route objects.
 */
import type { ProviderLoad, Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { Route } from "@tollgate/domain/catalog/Model"
import type { ProviderName } from "@tollgate/domain/catalog/Provider"
import * as Breaker from "@tollgate/domain/inference/Breaker"
import { CircuitOpen, Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { retryAfterSecondsOf } from "@tollgate/domain/validation/RequestErrors"
import * as Either from "effect/Either"

/** The permission to send one request to the provider. */
export interface Slot {
  /**
   * Reports that the upstream has begun to send a successful response. If this request is the probe of a half-open
   * breaker, the breaker closes immediately and does not wait for the end of the response.
   */
  readonly served: () => void
  /** Releases the slot with a verdict on the provider. Only the first call has an effect. */
  readonly release: (verdict: Verdict) => void
}

const ROUTE_DISABLED = "route disabled for a minute, because the provider refuses the API key or the account"

/** The events that are written to the log. */
export type GateNotice =
  | { readonly notice: "circuit breaker opened" | "circuit breaker closed"; readonly provider: ProviderName }
  | { readonly notice: typeof ROUTE_DISABLED; readonly provider: ProviderName; readonly upstreamModel: string }

export interface GateOptions {
  /** Returns the time of a monotonic clock in milliseconds since an arbitrary instant. */
  readonly nowMillis: () => number
  readonly onNotice: (notice: GateNotice) => void
}

export interface ProviderGate {
  readonly acquire: (candidate: Candidate) => Either.Either<Slot, Overloaded | CircuitOpen | UpstreamFailed>
  /**
   * Returns the providers with an occupied slot, and those whose circuit breaker has counted a failure since the last
   * success.
   */
  readonly loads: () => ReadonlyArray<ProviderLoad>
}

export const ROUTE_DISABLED_MILLIS = 60_000
const RETRY_WHEN_FULL_SECONDS = 1

interface ProviderState {
  occupied: number
  breaker: Breaker.Breaker
  /** The probe: the one request that a half-open breaker admits to test the provider. */
  probe: Slot | undefined
}

export const make = ({ nowMillis, onNotice }: GateOptions): ProviderGate => {
  const providers = new Map<ProviderName, ProviderState>()
  const disabledUntilMillis = new WeakMap<Route, number>()

  const isDisabled = (route: Route): boolean => {
    const until = disabledUntilMillis.get(route)
    return until !== undefined && nowMillis() < until
  }

  const disable = (route: Route) => {
    if (!isDisabled(route)) {
      onNotice({ notice: ROUTE_DISABLED, provider: route.provider, upstreamModel: route.upstreamModel })
    }
    disabledUntilMillis.set(route, nowMillis() + ROUTE_DISABLED_MILLIS)
  }

  const setBreaker = (name: ProviderName, state: ProviderState, next: Breaker.Breaker) => {
    const before = state.breaker.state
    state.breaker = next
    if (next.state === "open" && before === "closed") onNotice({ notice: "circuit breaker opened", provider: name })
    if (next.state === "closed" && before !== "closed") onNotice({ notice: "circuit breaker closed", provider: name })
  }

  return {
    loads: () =>
      [...providers].map(([provider, { breaker, occupied }]) => ({ provider, breaker: breaker.state, open: occupied })),
    acquire: ({ provider, route }) => {
      const { name, breaker: settings, maxConcurrency } = provider
      if (isDisabled(route)) return Either.left(new UpstreamFailed({ cause: `the route to ${name} is disabled` }))
      const state = providers.get(name) ?? { occupied: 0, breaker: Breaker.closed, probe: undefined }
      const passage = Breaker.pass(state.breaker, settings, nowMillis())
      if (!passage.admitted) {
        return Either.left(new CircuitOpen({ retryAfterSeconds: retryAfterSecondsOf(passage.retryAfterMillis) }))
      }
      if (state.occupied >= maxConcurrency) {
        return Either.left(new Overloaded({ retryAfterSeconds: RETRY_WHEN_FULL_SECONDS }))
      }

      let released = false
      const slot: Slot = {
        served: () => {
          if (released || state.probe !== slot) return
          state.probe = undefined
          setBreaker(name, state, Breaker.served(state.breaker))
        },
        release: (verdict) => {
          if (released) return
          released = true
          state.occupied -= 1
          if (verdict === "misconfigured") disable(route)
          // While a breaker is open or half-open, only the probe changes it. A request that started earlier does not
          // show the current state of the provider.
          if (state.breaker.state === "closed" || state.probe === slot) {
            setBreaker(name, state, judge(state.breaker, verdict, settings, nowMillis()))
          }
          if (state.probe === slot) state.probe = undefined
          if (state.occupied === 0 && state.breaker === Breaker.closed) providers.delete(name)
        }
      }
      state.occupied += 1
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
    // A provider that refuses the gateway's API key or account is reachable, so the breaker counts a success.
    case "served":
    case "misconfigured":
      return Breaker.served(breaker)
  }
}
