/**
 * Limits the rate of login attempts (docs/reference/reseller.md#b6).
 *
 * Three limits apply: per pair of email and client IP address, per email, and per client IP address. All attempts
 * without a valid email from one client IP address count as one pair, and the limit per email does not apply to them.
 * An attempt is counted before the password is verified. An allowed attempt counts for all limits; a refused attempt
 * counts for none.
 */
import type * as Brand from "effect/Brand"
import * as Either from "effect/Either"
import type { Email } from "../validation/Email.ts"
import { RateLimited } from "../validation/RequestErrors.ts"
import { decideHit, type Limit } from "./SlidingWindow.ts"

/** The client's IP address, from the connection or from a trusted proxy; at most 64 characters. */
export type ClientAddress = string & Brand.Brand<"ClientAddress">

export interface LoginAttempt {
  readonly address: ClientAddress
  /** The email in the request; undefined if the text is not an email address. */
  readonly email: Email | undefined
}

/** A limit, and the key under which its attempts are stored. The key has at most 400 characters. */
export interface LoginWindow extends Limit {
  readonly key: string
}

const WINDOW_MILLIS = 60_000

/** Returns the windows that count an attempt, sorted by key. The caller locks the windows in this order. */
export const windowsOf = ({ address, email }: LoginAttempt): ReadonlyArray<LoginWindow> => {
  const windows = [
    { key: `login from ${address}`, max: 60, windowMillis: WINDOW_MILLIS },
    { key: `login from ${address} as ${email ?? "no email"}`, max: 5, windowMillis: WINDOW_MILLIS }
  ]
  return email === undefined
    ? windows
    : [{ key: `login as ${email}`, max: 20, windowMillis: WINDOW_MILLIS }, ...windows]
}

/** A window, and the times of the attempts that it has counted. */
export interface CountedWindow {
  readonly window: LoginWindow
  readonly hits: ReadonlyArray<Date>
}

/**
 * Returns the windows after an allowed attempt. Fails if a window refuses the attempt; `retryAfterSeconds` is then the
 * time until every window allows one.
 */
export const decideAttempt = (
  windows: ReadonlyArray<CountedWindow>,
  now: Date
): Either.Either<ReadonlyArray<CountedWindow>, RateLimited> => {
  const next: Array<CountedWindow> = []
  let wait = 0
  for (const { window, hits } of windows) {
    const decided = decideHit(hits, window, now)
    if (Either.isRight(decided)) next.push({ window, hits: decided.right })
    else wait = Math.max(wait, decided.left.retryAfterSeconds)
  }
  return wait === 0 ? Either.right(next) : Either.left(new RateLimited({ retryAfterSeconds: wait }))
}
