/**
 * Stores the credential of this tab: the token of a reseller or an operator, or the API key of a customer. A credential
 * is stored only in `sessionStorage`, which ends with the tab. A credential is never part of a URL or of `localStorage`
 * (docs/adr/0013-console.md).
 */
import { atom } from "nanostores"
import { $waiting } from "./ReturnPath.ts"

export interface Reseller {
  readonly id: string
  readonly email: string
  readonly name: string
}

export type Session =
  | { readonly kind: "reseller"; readonly token: string; readonly reseller: Reseller }
  | { readonly kind: "customer"; readonly key: string }
  | { readonly kind: "operator"; readonly token: string; readonly actor: string }

const STORED_AS = "tollgate.session"

const stored = (): Session | undefined => {
  try {
    return JSON.parse(sessionStorage.getItem(STORED_AS) ?? "null") ?? undefined
  } catch {
    return undefined
  }
}

export const $session = atom<Session | undefined>(stored())

/**
 * The reason why the last session ended; undefined if the user ended it or there was none. The link of an operator ends
 * an earlier session with the reason `expired`, too.
 */
export const $sessionEnd = atom<"expired" | undefined>(undefined)

/** True after the user has ended the session, until the console shows a page that needs no session. */
export const $hasLeft = atom(false)

export const openSession = (session: Session): void => {
  sessionStorage.setItem(STORED_AS, JSON.stringify(session))
  $sessionEnd.set(undefined)
  $waiting.set(undefined)
  $session.set(session)
}

/**
 * Deletes the credential. Without a `reason`, the user has ended the session: also deletes all other data that this tab
 * has stored in `sessionStorage`. With a `reason`, does not report the end of a session if there is none.
 */
export const closeSession = (reason?: "expired"): void => {
  if (reason === undefined) sessionStorage.clear()
  else sessionStorage.removeItem(STORED_AS)
  if (reason === undefined || $session.get() !== undefined) $sessionEnd.set(reason)
  $hasLeft.set(reason === undefined)
  $session.set(undefined)
}
