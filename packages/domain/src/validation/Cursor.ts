/**
 * Defines the pages of a list that is read with a cursor. The rows are ordered by time, in most lists the newest row
 * first. A cursor contains the position of the last row of a page. A cursor is not a number of rows, so new rows do not
 * move the following pages. A caller that continues from a cursor neither misses nor repeats a row that stays in the
 * list.
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type DaysQuery, readTimeRange, type TimeRange } from "./Days.ts"
import { readWhole } from "./Page.ts"
import { type FieldIssue, ValidationFailed } from "./Validation.ts"

/**
 * The position of a row: its time, then its id.
 *
 * The time has microseconds, as in the database. If the time were rounded to milliseconds, a page could omit or repeat
 * rows of the same millisecond.
 */
export interface Position {
  /** The time in microseconds since 1970-01-01 UTC. */
  readonly atMicros: bigint
  readonly id: string
}

/** Returns the position of a row whose time has whole milliseconds. */
export const positionAt = (at: Date, id: string): Position => ({ atMicros: BigInt(at.getTime()) * 1_000n, id })

/** Returns the time of a position in whole milliseconds, for a list whose times have whole milliseconds. */
export const timeOf = ({ atMicros }: Position): Date => new Date(+(atMicros / 1_000n).toString())

/** The query parameters as received. */
export interface CursorQuery {
  readonly limit?: string | undefined
  readonly cursor?: string | undefined
}

export interface CursorPage {
  readonly limit: number
  /** The position of the row before the page; undefined for the first page. */
  readonly after: Position | undefined
}

/** A page of the rows in a range of time. */
export interface RangePage extends CursorPage {
  readonly range: TimeRange
}

/**
 * The name and version of a list. A cursor contains both, so a cursor of one list opens no page of a list with another
 * name. All lists of API keys have the name k, and all lists of usage the name u. A cursor gives no access to rows:
 * each list selects its own rows.
 */
export type ListName = "u1" | "k1" | "m1" | "r1" | "t1" | "i1" | "c1" | "h1" | "n1" | "q1" | "w1"

/** Returns a position as text, which the caller signs and sends as a cursor. */
export const positionToText = (list: ListName, { atMicros, id }: Position): string => `${list} ${atMicros} ${id}`

const isUuid = Schema.is(Schema.UUID)

export const positionFromText = (list: ListName, text: string): Option.Option<Position> => {
  const [name, micros = "", id = "", ...more] = text.split(" ")
  return name === list && more.length === 0 && /^\d{1,18}$/.test(micros) && isUuid(id)
    ? Option.some({ atMicros: BigInt(micros), id })
    : Option.none()
}

/**
 * Reads the query of a page. `openCursor` returns the text in a cursor, or none if the signature of the cursor is not
 * valid.
 */
export const readCursorPage = (
  list: ListName,
  { limit, cursor }: CursorQuery,
  openCursor: (cursor: string) => Option.Option<string>
): Either.Either<CursorPage, ReadonlyArray<FieldIssue>> => {
  const size = readWhole("limit", limit, { default: 50, min: 1, max: 100 })
  const after =
    cursor === undefined ? Option.none() : Option.flatMap(openCursor(cursor), (text) => positionFromText(list, text))
  const cursorIssues: ReadonlyArray<FieldIssue> =
    cursor !== undefined && Option.isNone(after)
      ? [{ path: "cursor", message: "the `next_cursor` of an earlier response" }]
      : []
  return Either.isRight(size) && cursorIssues.length === 0
    ? Either.right({ limit: size.right, after: Option.getOrUndefined(after) })
    : Either.left([...(Either.isLeft(size) ? [size.left] : []), ...cursorIssues])
}

/** Reads the query of a page of a list that has the parameters `from` and `to`. */
export const readRangePage = (
  list: ListName,
  query: CursorQuery & DaysQuery,
  openCursor: (cursor: string) => Option.Option<string>
): Either.Either<RangePage, ValidationFailed> => {
  const page = readCursorPage(list, query, openCursor)
  const range = readTimeRange(query)
  if (Either.isRight(page) && Either.isRight(range)) return Either.right({ ...page.right, range: range.right })
  const details = [...(Either.isLeft(page) ? page.left : []), ...(Either.isLeft(range) ? range.left : [])]
  return Either.left(new ValidationFailed({ details }))
}
