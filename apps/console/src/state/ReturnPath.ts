/**
 * Stores the data that the pages without a session need: the path to which a login returns, and the account that waits
 * for its review. The data is only in memory, because it contains a password.
 */
import { atom } from "nanostores"

/** The path of the page that needed a session. It is used once, when a session leaves the page that opened it. */
export const $returnPath = atom<string | undefined>(undefined)

export interface Credentials {
  readonly email: string
  readonly password: string
}

/** Credentials with which the waiting page checks whether the review is done. */
export const $waiting = atom<Credentials | undefined>(undefined)
