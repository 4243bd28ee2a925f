/**
 * How often somebody may try to log in (spec: Limits; gap B6).
 *
 * Three limits at once: for an email from one client address, for an email from anywhere, and for an address whatever
 * the email. An attempt is counted before the password is looked at, and in all three or in none.
 */
import type * as Brand from "effect/Brand"
import * as Either from "effect/Either"
import type { Email } from "../validation/Email.ts"
import { RateLimited } from "../validation/RequestErrors.ts"
import { decideHit, type Limit } from "./SlidingWindow.ts"

/** Where a request comes from, as far as we believe it; at most 64 characters. */
export type ClientAddress = string & Brand.Brand<"ClientAddress">

export interface LoginAttempt {
  readonly address: ClientAddress
  /** Absent when what was given is no email at all. */
  readonly email: Email | undefined
}

/** A limit and the name of what it counts; at most 400 characters. */
export interface LoginWindow extends Limit {
  readonly key: string
}

const WINDOW_MILLIS = 60_000

/** What an attempt counts towards, sorted by key: the order to lock them in. */
export const windowsOf = ({ address, email }: LoginAttempt): ReadonlyArray<LoginWindow> => {
  const windows = [
    { key: `login from ${address}`, most: 60, windowMillis: WINDOW_MILLIS },
    { key: `login from ${address} as ${email ?? "nobody"}`, most: 5, windowMillis: WINDOW_MILLIS }
  ]
  return email === undefined
    ? windows
    : [{ key: `login as ${email}`, most: 20, windowMillis: WINDOW_MILLIS }, ...windows]
}

/** The instants a window has counted so far. */
export interface CountedWindow {
  readonly window: LoginWindow
  readonly hits: ReadonlyArray<Date>
}

/** The windows as they are after an attempt that is allowed; refused until the last of the windows is free again. */
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
