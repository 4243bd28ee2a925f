/**
 * Cursors that only we can make: text under a seal, in letters that need no escaping in an address.
 */
import * as Context from "effect/Context"
import type * as Option from "effect/Option"

export class CursorSealer extends Context.Tag("@tollgate/application/CursorSealer")<
  CursorSealer,
  {
    readonly seal: (text: string) => string
    /** What was sealed; nothing of a cursor that is malformed, altered, or of somebody else's making. */
    readonly open: (cursor: string) => Option.Option<string>
  }
>() {}
