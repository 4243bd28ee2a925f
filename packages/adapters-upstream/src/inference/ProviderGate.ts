/**
 * How much of each supplier this process uses, and which ones it leaves alone for now.
 *
 * Slots and the breaker belong to a provider's name and outlive a change of the catalog; their settings come with
 * every request, so a change applies at once. A route on which our key or our account was refused is off for
 * a while, or until the catalog is replaced: routes are new objects then.
 */
import type { Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { Route } from "@tollgate/domain/catalog/Model"
import type { ProviderName } from "@tollgate/domain/catalog/Provider"
import * as Breaker from "@tollgate/domain/inference/Breaker"
import { CircuitOpen, Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"

/** One request inside the gate. */
export interface Slot {
  /** The supplier began to answer: enough for a probe to close the breaker, however long the answer takes. */
  readonly answered: () => void
  /** Gives the slot back and says how it went. Only the first call counts. */
  readonly leave: (verdict: Verdict) => void
}

/** What an operator wants to hear of. */
export type GateNotice =
  | { readonly notice: "breaker opened" | "breaker closed"; readonly provider: ProviderName }
  | { readonly notice: "route taken off"; readonly provider: ProviderName; readonly upstreamModel: string }

export interface GateOptions {
  /** A clock of no particular epoch that never goes back. */
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
  /** The one request that a half-open breaker let through. */
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
      if (isOff(route)) return Either.left(new UpstreamFailed({ cause: `the route to ${name} is off` }))
      const state = providers.get(name) ?? { taken: 0, breaker: Breaker.closed, probe: undefined }
      const passage = Breaker.pass(state.breaker, settings, nowMillis())
      if (!passage.admitted) {
        return Either.left(new CircuitOpen({ retryAfterSeconds: wholeSeconds(passage.retryAfterMillis) }))
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
          // While a breaker is open or probing only its probe is heard: what was sent before it opened says nothing
          // about how the supplier is now.
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
    // A supplier that refuses our account is there and answers.
    case "served":
    case "misconfigured":
      return Breaker.served(breaker)
  }
}

const wholeSeconds = (millis: number): number => Math.max(1, Math.ceil(millis / 1_000))
