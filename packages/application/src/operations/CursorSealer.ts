/**
 * Signs the cursors of lists, and reads one page of a list.
 */
import { type CursorPage, type ListName, type Position, positionToText } from "@tollgate/domain/validation/Cursor"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"

/**
 * Seals cursors: adds a signature, so that a client cannot forge a cursor. A sealed cursor needs no escaping in a URL.
 */
export class CursorSealer extends Context.Tag("@tollgate/application/CursorSealer")<
  CursorSealer,
  {
    readonly seal: (text: string) => string
    /** Returns the text in a cursor; none if the cursor is malformed, altered or not sealed by this deployment. */
    readonly open: (cursor: string) => Option.Option<string>
  }
>() {}

export interface Listed<Item> {
  readonly items: ReadonlyArray<Item>
  /** The cursor of the next page; null on the last page. */
  readonly nextCursor: string | null
}

/**
 * Returns the page of a list with at most `page.limit` items. Calls `read` with a `limit` that is one higher: if `read`
 * returns this additional item, there is another page.
 */
export const listPage = <Item extends { readonly position: Position }, Page extends CursorPage, E, R>(
  list: ListName,
  page: Page,
  read: (page: Page) => Effect.Effect<ReadonlyArray<Item>, E, R>
): Effect.Effect<Listed<Item>, E, R | CursorSealer> =>
  Effect.gen(function* () {
    const found = yield* read({ ...page, limit: page.limit + 1 })
    const items = found.slice(0, page.limit)
    const last = items.at(-1)
    const nextCursor =
      found.length > page.limit && last !== undefined
        ? (yield* CursorSealer).seal(positionToText(list, last.position))
        : null
    return { items, nextCursor }
  })
