/**
 * Leaves a failing supplier alone for a while.
 *
 *     closed ──too many failures in the window──▶ open ──time is up──▶ half open ──probe served──▶ closed
 *                                                  ▲                      └──probe failed──┐
 *                                                  └────────────────────────────────────────┘
 *
 * Half open lets one request through. Pure: the caller keeps the state and says what time it is.
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

/** Whether a request may go now; the state to keep when it does. Open says how long it stays so. */
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

/** A probe that ended without telling anything (its client left): the next request probes again. */
export const undecided = (breaker: Breaker, nowMillis: number): Breaker =>
  breaker.state === "half_open" ? { state: "open", untilMillis: nowMillis } : breaker
