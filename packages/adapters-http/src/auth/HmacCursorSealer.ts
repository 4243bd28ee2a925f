/**
 * Encodes paging cursors as `<text>.<HMAC>`, with both parts in base64url. Clients can read a cursor, but cannot create
 * or change a cursor, because only the server can compute the HMAC.
 */
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import type * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type SigningSecrets, sealsFor } from "./SigningSecrets.ts"

/**
 * The length of the longest cursor. A cursor of the blacklist contains `b1`, a space and a pattern of at most 254
 * UTF-16 code units. These are at most 765 bytes in UTF-8: 1,020 characters in base64url. The HMAC has 43 characters.
 */
const MAX_LENGTH = 1_020 + 1 + 43
const FORM = /^([\w-]*)\.([\w-]+)$/

export const make = (secrets: SigningSecrets): Context.Tag.Service<CursorSealer> => {
  const { seal, isSealed } = sealsFor("cursors", secrets)
  const cursorOf = (text: string, mac: Uint8Array) =>
    `${Buffer.from(text).toString("base64url")}.${Buffer.from(mac).toString("base64url")}`
  return {
    seal: (text) => cursorOf(text, seal(text)),
    open: (cursor) => {
      const [, body, mac] = (cursor.length <= MAX_LENGTH && FORM.exec(cursor)) || []
      if (body === undefined || mac === undefined) return Option.none()
      const text = Buffer.from(body, "base64url").toString()
      const sealed = Buffer.from(mac, "base64url")
      // Several base64 texts can decode to the same bytes. Only the canonical text is accepted.
      return isSealed(text, sealed) && cursorOf(text, sealed) === cursor ? Option.some(text) : Option.none()
    }
  }
}

export const layer = (secrets: SigningSecrets): Layer.Layer<CursorSealer> =>
  Layer.sync(CursorSealer, () => make(secrets))
