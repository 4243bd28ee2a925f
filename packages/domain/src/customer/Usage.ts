/**
 * Defines the list of settled requests with charged tokens, which resellers and customers read in pages, newest first,
 * and its daily sums (docs/reference/balances-and-usage.md#bal-6, docs/reference/balances-and-usage.md#e5).
 */
import * as Either from "effect/Either"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Tokens } from "../money/Tokens.ts"
import { toExactUsdMicro, type UsdPico } from "../money/UsdPico.ts"
import { type CursorPage, type CursorQuery, type Position, readCursorPage } from "../validation/Cursor.ts"
import { type DayRange, type DaysQuery, readDayRange, readTimeRange, type TimeRange } from "../validation/Days.ts"
import { isPublicName } from "../validation/Text.ts"
import { type FieldIssue, ValidationFailed } from "../validation/Validation.ts"
import { UserId } from "./User.ts"

/** One settled request. */
export interface UsageItem {
  /** The settlement time and the request id. */
  readonly position: Position
  readonly userId: UserId
  readonly model: string
  /** The charged tokens of all four classes (docs/reference/billing.md#c5). */
  readonly totalTokens: Tokens
  /**
   * The cost of all charged tokens in pico-USD, at the model's price when the request was admitted. It includes the
   * part that the token plan covered and any write-off (docs/reference/balances-and-usage.md#c3).
   */
  readonly costPico: UsdPico
  readonly settledAt: Date
}

/** Selects settled requests. An undefined member excludes no request. */
export interface UsageFilter extends TimeRange {
  /** The public name of the model. */
  readonly model: string | undefined
  readonly userId: UserId | undefined
}

/** The query parameters of a filter, as received. */
export interface UsageFilterQuery extends DaysQuery {
  readonly model?: string | undefined
  /** The id of a customer. Only the routes of resellers accept this parameter. */
  readonly customer?: string | undefined
}

/** The query parameters of a page, as received. */
export interface UsageQuery extends CursorQuery, UsageFilterQuery {}

export interface UsagePage extends CursorPage {
  readonly filter: UsageFilter
}

/** The settled requests with charged tokens of one day in Asia/Jakarta. */
export interface UsageDay {
  readonly day: string
  readonly requests: bigint
  readonly totalTokens: Tokens
  readonly costPico: UsdPico
}

/** Returns the exact cost in micro-USD as a decimal string: `"0.5"`, `"1234.25"`. */
export const displayCostUsdMicroOf = ({ costPico }: Pick<UsageItem, "costPico">): string => toExactUsdMicro(costPico)

const isUserId = Schema.is(UserId)

const filterIssues = ({ model, customer }: UsageFilterQuery): ReadonlyArray<FieldIssue> => [
  ...(model !== undefined && !isPublicName(model) ? [{ path: "model", message: "the public name of a model" }] : []),
  ...(customer !== undefined && !isUserId(customer) ? [{ path: "customer", message: "a UUID" }] : [])
]

/** Combines a range with the other parameters of a filter, which the caller has checked with `filterIssues`. */
const filterOf = (range: TimeRange, { model, customer }: UsageFilterQuery): UsageFilter => ({
  ...range,
  model,
  userId: isUserId(customer) ? customer : undefined
})

const failed = (...issues: ReadonlyArray<ReadonlyArray<FieldIssue>>) =>
  Either.left(new ValidationFailed({ details: issues.flat() }))

const issuesIn = <A>(read: Either.Either<A, ReadonlyArray<FieldIssue>>): ReadonlyArray<FieldIssue> =>
  Either.isLeft(read) ? read.left : []

/** Reads a filter. Its range of days can lack the first day, the last day or both. */
export const readUsageFilter = (query: UsageFilterQuery): Either.Either<UsageFilter, ValidationFailed> => {
  const range = readTimeRange(query)
  const issues = filterIssues(query)
  return Either.isRight(range) && issues.length === 0
    ? Either.right(filterOf(range.right, query))
    : failed(issuesIn(range), issues)
}

/**
 * Reads the query of a usage page. `openCursor` returns the text in a cursor, or none if the signature of the cursor is
 * not valid.
 */
export const readUsagePage = (
  query: UsageQuery,
  openCursor: (cursor: string) => Option.Option<string>
): Either.Either<UsagePage, ValidationFailed> => {
  const page = readCursorPage("u1", query, openCursor)
  const filter = readUsageFilter(query)
  return Either.isRight(page) && Either.isRight(filter)
    ? Either.right({ ...page.right, filter: filter.right })
    : failed(issuesIn(page), Either.isLeft(filter) ? filter.left.details : [])
}

/** Reads the query of daily sums, whose range is limited. */
export const readUsageDays = (
  query: UsageFilterQuery,
  now: Date
): Either.Either<{ readonly days: DayRange; readonly filter: UsageFilter }, ValidationFailed> => {
  const days = readDayRange(query, now)
  const issues = filterIssues(query)
  return Either.isRight(days) && issues.length === 0
    ? Either.right({ days: days.right, filter: filterOf(days.right.range, query) })
    : failed(issuesIn(days), issues)
}
