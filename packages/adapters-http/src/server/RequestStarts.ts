/**
 * Decides when each request to the HttpApi, except a probe, starts, so that many of these requests delay neither the
 * requests to the relay nor the requests of other parties (docs/reference/limits.md#l14).
 *
 * The start of a request occupies the event loop for up to one millisecond. Therefore at most one request starts in
 * each turn of the event loop, and at most one in 10 ms while the event loop is busy. A party is identified by its API
 * key or token (in the header `authorization` or `x-api-key`) or, for requests without these headers, by its IP
 * address. Parties take turns, and requests with one of the headers take turns with requests without them. The body of
 * a waiting request is not read.
 */
import { performance } from "node:perf_hooks"
import { Shares } from "@tollgate/application/operations/Shares"

export interface Party {
  readonly name: string
  /** True if the name comes from an API key or token. The number of requests per second of such a party is limited. */
  readonly isAuthorized: boolean
}

/**
 * The number of requests of an authorised party that start before its rate is limited. Further requests start at least
 * {@link PARTY_INTERVAL_MILLIS} apart.
 */
const PARTY_BURST = 200
const PARTY_INTERVAL_MILLIS = 10
const BUSY_INTERVAL_MILLIS = 10
const MAX_WAITING = 1_024
const PURGE_MILLIS = 1_000

type Start = () => void

/** The waiting requests of one party, in the order of arrival. */
interface Line {
  readonly party: Party
  readonly starts: Array<Start>
}

export interface Surroundings {
  readonly nowMillis: () => number
  readonly isBusy: () => boolean
}

export class RequestStarts {
  readonly #surroundings: Surroundings
  readonly #places: Shares<string>
  /** The parties with waiting requests. A party moves to the end when one of its requests starts. */
  readonly #lines = { authorized: new Map<string, Line>(), anonymous: new Map<string, Line>() }
  /**
   * The time until which the earlier requests of an authorised party count against its rate. Each request adds one
   * interval.
   */
  readonly #countedUntil = new Map<string, number>()
  #isAuthorizedNext = true
  #isScheduled = false
  #startedAt = Number.NEGATIVE_INFINITY
  #purgedAt = 0

  constructor(surroundings: Surroundings = eventLoop(), maxWaiting: number = MAX_WAITING) {
    this.#surroundings = surroundings
    this.#places = new Shares(maxWaiting)
  }

  /**
   * Adds a request. `start` must not throw. Returns false, and never starts the request, if the party has used up its
   * share of the places for waiting requests.
   */
  add(party: Party, start: Start): boolean {
    if (!this.#places.take(placeOf(party))) return false
    const lines = party.isAuthorized ? this.#lines.authorized : this.#lines.anonymous
    const line = lines.get(party.name)
    if (line === undefined) lines.set(party.name, { party, starts: [start] })
    else line.starts.push(start)
    if (!this.#isScheduled) this.#schedule()
    return true
  }

  #schedule(): void {
    this.#isScheduled = true
    const waitMillis = this.#waitMillis()
    // An immediate that is set by an immediate runs in the next turn of the event loop, after the waiting I/O.
    if (waitMillis <= 0) setImmediate(this.#startNext)
    else setTimeout(this.#startNext, waitMillis)
  }

  #waitMillis(): number {
    const now = this.#surroundings.nowMillis()
    const pause = this.#surroundings.isBusy() ? this.#startedAt + BUSY_INTERVAL_MILLIS - now : 0
    return this.#lines.anonymous.size > 0 ? pause : Math.max(pause, this.#earliestAuthorized() - now)
  }

  #earliestAuthorized(): number {
    let earliest = Number.POSITIVE_INFINITY
    for (const name of this.#lines.authorized.keys()) earliest = Math.min(earliest, this.#allowedFrom(name))
    return earliest
  }

  #allowedFrom(name: string): number {
    return (this.#countedUntil.get(name) ?? Number.NEGATIVE_INFINITY) - (PARTY_BURST - 1) * PARTY_INTERVAL_MILLIS
  }

  readonly #startNext = (): void => {
    if (this.#waitMillis() > 0) {
      this.#schedule()
      return
    }
    const now = this.#surroundings.nowMillis()
    const line = this.#nextLine(now)
    const start = line?.starts.shift()
    if (line !== undefined && start !== undefined) {
      this.#startedAt = now
      this.#moveBack(line)
      this.#count(line.party, now)
      this.#places.release(placeOf(line.party))
    }
    if (this.#lines.authorized.size + this.#lines.anonymous.size > 0) this.#schedule()
    else this.#isScheduled = false
    start?.()
  }

  #nextLine(now: number): Line | undefined {
    const [anonymous] = this.#lines.anonymous.values()
    const authorized = this.#firstAllowed(now)
    const next = this.#isAuthorizedNext ? (authorized ?? anonymous) : (anonymous ?? authorized)
    this.#isAuthorizedNext = next !== authorized
    return next
  }

  #firstAllowed(now: number): Line | undefined {
    for (const line of this.#lines.authorized.values()) if (this.#allowedFrom(line.party.name) <= now) return line
    return undefined
  }

  #moveBack(line: Line): void {
    const lines = line.party.isAuthorized ? this.#lines.authorized : this.#lines.anonymous
    lines.delete(line.party.name)
    if (line.starts.length > 0) lines.set(line.party.name, line)
  }

  #count({ name, isAuthorized }: Party, now: number): void {
    if (isAuthorized) {
      this.#countedUntil.set(name, Math.max(this.#countedUntil.get(name) ?? 0, now) + PARTY_INTERVAL_MILLIS)
    }
    if (now - this.#purgedAt < PURGE_MILLIS) return
    this.#purgedAt = now
    for (const [counted, until] of this.#countedUntil) if (until <= now) this.#countedUntil.delete(counted)
  }
}

/**
 * Returns the name under which a party holds waiting places. A client chooses the text of its header, which can be the
 * IP address of another client. Therefore the name contains the kind of the party.
 */
const placeOf = ({ isAuthorized, name }: Party): string => `${isAuthorized ? "key" : "address"} ${name}`

const BUSY_UTILIZATION = 0.5
const SAMPLE_MILLIS = 50

/**
 * Returns the clock and a function that tells whether the event loop is busy. The event loop is busy if it worked for
 * more than half of the last sample. A sample lasts 50 ms or longer.
 */
const eventLoop = (): Surroundings => {
  let sample = performance.eventLoopUtilization()
  let sampledAt = performance.now()
  let busy = false
  return {
    nowMillis: () => performance.now(),
    isBusy: () => {
      if (performance.now() - sampledAt < SAMPLE_MILLIS) return busy
      const next = performance.eventLoopUtilization()
      busy = performance.eventLoopUtilization(next, sample).utilization > BUSY_UTILIZATION
      sample = next
      sampledAt = performance.now()
      return busy
    }
  }
}
