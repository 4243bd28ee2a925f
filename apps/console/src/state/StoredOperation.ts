/**
 * Reads the operations that a tab stores until their result is known.
 */
import { $session } from "./Session.ts"

/** Returns the id of the reseller whose session this tab has; empty if it has no session of a reseller. */
export const sessionReseller = (): string => {
  const session = $session.get()
  return session?.kind === "reseller" ? session.reseller.id : ""
}

/** Reads an operation from `sessionStorage`, which a reload of the page does not empty. */
export const storedOperation = <A>(name: string): A | undefined => {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? "null") ?? undefined
  } catch {
    return undefined
  }
}
