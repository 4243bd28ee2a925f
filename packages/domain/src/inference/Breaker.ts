/**
 * A circuit breaker stops requests to a failing provider for `openMillis`.
 *
 *     closed ──too many failures in the window──▶ open ──openMillis pass──▶ half open ──probe served──▶ closed
 *                                                  ▲                           └──probe failed──┐
 *                                                  └─────────────────────────────────────────────┘
 *
 * The request that changes the state from open to half open is the probe. In the state half open, every other request
 * is refused. All functions are pure: the caller stores the state and passes the current time.
 */
export interface BreakerSettings {
  readonly failures: number
  readonly windowMillis: number
  readonly openMillis: number
}

export type Breaker =
  | { readonly state: "closed"; readonly failedAtMillis: ReadonlyArray<number> }
  | { readonly state: "open"; readonly untilMillis: number }
  | { readonly state: "half_open" }

export const closed: Breaker = { state: "closed", failedAtMillis: [] }

/** The decision about one request: `admitted` with the breaker to store, or refused with the time until a retry. */
export type Passage =
  | { readonly admitted: true; readonly breaker: Breaker }
  | { readonly admitted: false; readonly retryAfterMillis: number }

export const pass = (breaker: Breaker, settings: BreakerSettings, nowMillis: number): Passage => {
  switch (breaker.state) {
    case "closed":
      return { admitted: true, breaker }
    case "open":
      return nowMillis >= breaker.untilMillis
        ? { admitted: true, breaker: { state: "half_open" } }
        : { admitted: false, retryAfterMillis: breaker.untilMillis - nowMillis }
    case "half_open":
      return { admitted: false, retryAfterMillis: settings.openMillis }
  }
}

export const served = (breaker: Breaker): Breaker =>
  breaker.state === "closed" && breaker.failedAtMillis.length === 0 ? breaker : closed

export const failed = (breaker: Breaker, settings: BreakerSettings, nowMillis: number): Breaker => {
  const open: Breaker = { state: "open", untilMillis: nowMillis + settings.openMillis }
  if (breaker.state !== "closed") return breaker.state === "open" ? breaker : open
  const recent = [...breaker.failedAtMillis.filter((at) => at > nowMillis - settings.windowMillis), nowMillis]
  return recent.length >= settings.failures ? open : { state: "closed", failedAtMillis: recent }
}

/**
 * Returns the state after a request that does not show whether the provider works, for example because its client
 * disconnected. If this request was the probe, the next request becomes the probe.
 */
export const undecided = (breaker: Breaker, nowMillis: number): Breaker =>
  breaker.state === "half_open" ? { state: "open", untilMillis: nowMillis } : breaker
