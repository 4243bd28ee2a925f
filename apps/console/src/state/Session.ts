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

export interface ResellerSession {
  readonly kind: "reseller"
  readonly token: string
  readonly reseller: Reseller
}

export type Session =
  | ResellerSession
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
 * The kind of the last session if it expired; undefined if the user ended it or there was none. The link of an operator
 * ends an earlier session with the reason `expired`, too.
 */
export const $sessionEnd = atom<Session["kind"] | undefined>(undefined)

/** True after the user has ended the session, until the console shows a page that needs no session. */
export const $hasLeft = atom(false)

/** The session of this tab, even after it has expired; undefined after the user has ended it. */
let latest = $session.get()

export const openSession = (session: Session): void => {
  latest = session
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
  const ended = $session.get()
  if (reason === undefined) {
    latest = undefined
    sessionStorage.clear()
    $sessionEnd.set(undefined)
  } else {
    sessionStorage.removeItem(STORED_AS)
    if (ended !== undefined) $sessionEnd.set(ended.kind)
  }
  $hasLeft.set(reason === undefined)
  $session.set(undefined)
}

/** Stores a new credential of a session, unless the user has ended this session or opened another one meanwhile. */
export const renewSession = (session: Session, renewed: Session): void => {
  if (latest === session) openSession(renewed)
}

/** Ends a session for the user, unless the user has ended it already or opened another one meanwhile. */
export const endSession = (session: Session): void => {
  if (latest === session) closeSession()
}
