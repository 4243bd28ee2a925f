/**
 * Defines the list of settled requests that a reseller reads in pages, newest first
 * (docs/reference/balances-and-usage.md#bal-6, docs/reference/balances-and-usage.md#e5).
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { RequestId } from "../inference/InferenceRequest.ts"
import type { Tokens } from "../money/Tokens.ts"
import { toExactUsdMicro, type UsdPico } from "../money/UsdPico.ts"
import { readWhole } from "../validation/Page.ts"
import { type FieldIssue, ValidationFailed } from "../validation/Validation.ts"
import type { UserId } from "./User.ts"

/**
 * The position of an item in the list. Items are ordered by settlement time, then by request id.
 *
 * The time has microseconds, as in the database. If the time were rounded to milliseconds, a page could omit or repeat
 * items that were settled in the same millisecond.
 */
export interface UsagePosition {
  /** The settlement time in microseconds since 1970-01-01 UTC. */
  readonly settledAtMicros: bigint
  readonly requestId: RequestId
}

/** One settled request. */
export interface UsageItem {
  readonly position: UsagePosition
  readonly userId: UserId
  readonly model: string
  /** The sum of all four token classes (docs/reference/billing.md#c5). */
  readonly totalTokens: Tokens
  /**
   * The cost of all charged tokens in pico-USD, at the model's price when the request was admitted. It includes the part
   * that the token plan covered and any write-off (docs/reference/balances-and-usage.md#c3).
   */
  readonly costPico: UsdPico
  readonly settledAt: Date
}

/** The query parameters as received. */
export interface UsageQuery {
  readonly limit?: string | undefined
  readonly cursor?: string | undefined
}

export interface UsagePage {
  readonly limit: number
  /** The position of the item before the page; undefined for the first page. */
  readonly after: UsagePosition | undefined
}

/** Returns the exact cost in micro-USD as a decimal string: `"0.5"`, `"1234.25"`. */
export const displayCostUsdMicroOf = ({ costPico }: UsageItem): string => toExactUsdMicro(costPico)

const VERSION = "u1"

/** Returns a position as text, which the caller signs and sends as a cursor. */
export const positionToText = ({ settledAtMicros, requestId }: UsagePosition): string =>
  `${VERSION} ${settledAtMicros} ${requestId}`

const isUuid = Schema.is(Schema.UUID)

export const positionFromText = (text: string): Option.Option<UsagePosition> => {
  const [version, micros = "", requestId = "", ...more] = text.split(" ")
  return version === VERSION && more.length === 0 && /^\d{1,18}$/.test(micros) && isUuid(requestId)
    ? Option.some({ settledAtMicros: BigInt(micros), requestId: RequestId(requestId) })
    : Option.none()
}

/** Reads the query of a usage page. `openCursor` returns the text in a cursor, or none if this server did not issue it. */
export const readUsagePage = (
  { limit, cursor }: UsageQuery,
  openCursor: (cursor: string) => Option.Option<string>
): Either.Either<UsagePage, ValidationFailed> => {
  const size = readWhole("limit", limit, { default: 50, min: 1, max: 100 })
  const after = cursor === undefined ? Option.none() : Option.flatMap(openCursor(cursor), positionFromText)
  const cursorIssues: ReadonlyArray<FieldIssue> =
    cursor !== undefined && Option.isNone(after)
      ? [{ path: "cursor", message: "not a cursor issued by this server" }]
      : []
  return Either.isRight(size) && cursorIssues.length === 0
    ? Either.right({ limit: size.right, after: Option.getOrUndefined(after) })
    : Either.left(new ValidationFailed({ details: [...(Either.isLeft(size) ? [size.left] : []), ...cursorIssues] }))
}
