/**
 * The token a request presents as `Authorization: Bearer <token>`, the scheme in any case.
 *
 * Node keeps the first of several such headers, so they are read as they came: two that differ are none.
 */
import * as Redacted from "effect/Redacted"

const FORM = /^bearer +([\w.~+/-]+=*) *$/i
/** Ours have about 350 characters. */
const MAX_LENGTH = 4_096

/** Reads the names and values as they alternate in `IncomingMessage.rawHeaders`. */
export const bearerToken = (rawHeaders: ReadonlyArray<string>): Redacted.Redacted<string> | undefined => {
  let presented: string | undefined
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== "authorization") continue
    const value = rawHeaders[i + 1] ?? ""
    if (presented !== undefined && presented !== value) return undefined
    presented = value
  }
  const token = presented === undefined || presented.length > MAX_LENGTH ? undefined : FORM.exec(presented)?.[1]
  return token === undefined ? undefined : Redacted.make(token)
}
