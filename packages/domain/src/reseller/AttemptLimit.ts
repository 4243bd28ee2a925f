/**
 * Limits the rate of login and signup attempts (docs/reference/reseller.md#b6, docs/reference/reseller.md#b12), of
 * failed attempts to use the operator API, and of test events and replays of webhooks.
 *
 * Three limits apply to a login: per pair of email and client IP address, per email, and per client IP address. All
 * attempts without a valid email from one client IP address count as one pair, and the limit per email does not apply
 * to them. One limit applies to a signup: per client IP address. An attempt is counted before a password is hashed. An
 * allowed attempt counts for all its limits. A refused attempt counts for none.
 */
import type * as Brand from "effect/Brand"
import * as Either from "effect/Either"
import type { Email } from "../validation/Email.ts"
import { RateLimited } from "../validation/RequestErrors.ts"
import type { ResellerId } from "./Reseller.ts"
import { decideHit, type Limit } from "./SlidingWindow.ts"

/** The client's IP address, from the connection or from a trusted proxy; at most 64 characters. */
export type ClientAddress = string & Brand.Brand<"ClientAddress">

export interface LoginAttempt {
  readonly address: ClientAddress
  /** The email in the request; undefined if the text is not an email address. */
  readonly email: Email | undefined
}

/** A limit, and the key under which its attempts are stored. The key has at most 400 characters. */
export interface AttemptWindow extends Limit {
  readonly key: string
}

const MINUTE_MILLIS = 60_000
const HOUR_MILLIS = 3_600_000

/** Returns the windows that count a login, sorted by key. The caller locks the windows in this order. */
export const loginWindows = ({ address, email }: LoginAttempt): ReadonlyArray<AttemptWindow> => {
  const windows = [
    { key: `login from ${address}`, max: 60, windowMillis: MINUTE_MILLIS },
    { key: `login from ${address} as ${email ?? "no email"}`, max: 5, windowMillis: MINUTE_MILLIS }
  ]
  return email === undefined
    ? windows
    : [{ key: `login as ${email}`, max: 20, windowMillis: MINUTE_MILLIS }, ...windows]
}

/** Returns the windows that count a signup. */
export const signupWindows = (address: ClientAddress): ReadonlyArray<AttemptWindow> => [
  { key: `signup from ${address}`, max: 10, windowMillis: HOUR_MILLIS }
]

/**
 * Returns the windows that count a failed attempt to open or use an operator session (docs/reference/operator.md#o5).
 * An attempt with a valid code or token is not counted.
 */
export const operatorWindows = (address: ClientAddress): ReadonlyArray<AttemptWindow> => [
  { key: `operator from ${address}`, max: 10, windowMillis: MINUTE_MILLIS }
]

/** Returns the windows that count a reseller's test event or replay of a webhook (docs/reference/webhooks.md#wh9). */
export const webhookWindows = (resellerId: ResellerId): ReadonlyArray<AttemptWindow> => [
  { key: `webhooks of ${resellerId}`, max: 30, windowMillis: MINUTE_MILLIS }
]

/** A window, and the times of the attempts that it has counted. */
export interface CountedWindow {
  readonly window: AttemptWindow
  readonly hits: ReadonlyArray<Date>
}

/** The windows that refuse an attempt, each with the time until the window allows another attempt. */
export type FullWindows = ReadonlyArray<{ readonly key: string; readonly refusal: RateLimited }>

/** Returns the windows after an allowed attempt, otherwise the windows that refuse it. */
export const decideAttempt = (
  windows: ReadonlyArray<CountedWindow>,
  now: Date
): Either.Either<ReadonlyArray<CountedWindow>, FullWindows> => {
  const next: Array<CountedWindow> = []
  const full: Array<FullWindows[number]> = []
  for (const { window, hits } of windows) {
    const decided = decideHit(hits, window, now)
    if (Either.isRight(decided)) next.push({ window, hits: decided.right })
    else full.push({ key: window.key, refusal: decided.left })
  }
  return full.length === 0 ? Either.right(next) : Either.left(full)
}

/**
 * Returns the error for a refused attempt. Its `retryAfterSeconds` is the time until every window allows an attempt.
 */
export const refusalOf = (full: FullWindows): RateLimited =>
  new RateLimited({ retryAfterSeconds: Math.max(...full.map(({ refusal }) => refusal.retryAfterSeconds)) })
