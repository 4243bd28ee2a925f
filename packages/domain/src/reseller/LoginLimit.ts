/**
 * The rate limits of login attempts (docs/reference/reseller.md#b6).
 *
 * Three limits apply: to an email from one client address, to an email from all addresses, and to an address with all
 * emails. An attempt is counted before the password is verified, and in all three windows or in none.
 */
import type * as Brand from "effect/Brand"
import * as Either from "effect/Either"
import type { Email } from "../validation/Email.ts"
import { RateLimited } from "../validation/RequestErrors.ts"
import { decideHit, type Limit } from "./SlidingWindow.ts"

/** The client's address, from the connection or from a trusted proxy; at most 64 characters. */
export type ClientAddress = string & Brand.Brand<"ClientAddress">

export interface LoginAttempt {
  readonly address: ClientAddress
  /** Absent when the given text is not an email address. */
  readonly email: Email | undefined
}

/** A limit and the key of its window; the key has at most 400 characters. */
export interface LoginWindow extends Limit {
  readonly key: string
}

const WINDOW_MILLIS = 60_000

/** The windows that count an attempt, sorted by key: the order to lock them in. */
export const windowsOf = ({ address, email }: LoginAttempt): ReadonlyArray<LoginWindow> => {
  const windows = [
    { key: `login from ${address}`, max: 60, windowMillis: WINDOW_MILLIS },
    { key: `login from ${address} as ${email ?? "no email"}`, max: 5, windowMillis: WINDOW_MILLIS }
  ]
  return email === undefined
    ? windows
    : [{ key: `login as ${email}`, max: 20, windowMillis: WINDOW_MILLIS }, ...windows]
}

/** A window and the times it has counted so far. */
export interface CountedWindow {
  readonly window: LoginWindow
  readonly hits: ReadonlyArray<Date>
}

/** The windows after an allowed attempt. A refusal lasts until every window has room again. */
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
