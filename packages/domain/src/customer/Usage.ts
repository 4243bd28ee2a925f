/**
 * Settled usage as a reseller reads it: items, newest first, in pages (docs/reference/balances-and-usage.md#bal-6,
 * docs/reference/balances-and-usage.md#e5).
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
 * The place of an item in the order of settlement: by time, then by request.
 *
 * The time has the microseconds of the database. Rounded to milliseconds, a page that begins after an item would omit or
 * repeat the items next to it.
 */
export interface UsagePosition {
  /** Microseconds since 1970. */
  readonly settledAtMicros: bigint
  readonly requestId: RequestId
}

/** One settled request. */
export interface UsageItem {
  readonly position: UsagePosition
  readonly userId: UserId
  readonly model: string
  /** All four classes of tokens (docs/reference/billing.md#c5). */
  readonly totalTokens: Tokens
  /** The list price of the whole request, whichever balance paid for it (docs/reference/balances-and-usage.md#c3). */
  readonly costPico: UsdPico
  readonly settledAt: Date
}

/** Query parameters as received. */
export interface UsageQuery {
  readonly limit?: string | undefined
  readonly cursor?: string | undefined
}

export interface UsagePage {
  readonly limit: number
  /** The page begins after this item; at the newest when absent. */
  readonly after: UsagePosition | undefined
}

/** Exact, as decimal digits: `"0.5"`, `"1234.25"`. */
export const displayCostUsdMicroOf = ({ costPico }: UsageItem): string => toExactUsdMicro(costPico)

const VERSION = "u1"

/** The text of a position, which a cursor seals. */
export const positionToText = ({ settledAtMicros, requestId }: UsagePosition): string =>
  `${VERSION} ${settledAtMicros} ${requestId}`

const isUuid = Schema.is(Schema.UUID)

export const positionFromText = (text: string): Option.Option<UsagePosition> => {
  const [version, micros = "", requestId = "", ...more] = text.split(" ")
  return version === VERSION && more.length === 0 && /^\d{1,18}$/.test(micros) && isUuid(requestId)
    ? Option.some({ settledAtMicros: BigInt(micros), requestId: RequestId(requestId) })
    : Option.none()
}

/** `openCursor` returns the text sealed in a genuine cursor, and none for any other. */
export const readUsagePage = (
  { limit, cursor }: UsageQuery,
  openCursor: (cursor: string) => Option.Option<string>
): Either.Either<UsagePage, ValidationFailed> => {
  const size = readWhole("limit", limit, { default: 50, min: 1, max: 100 })
  const after = cursor === undefined ? Option.none() : Option.flatMap(openCursor(cursor), positionFromText)
  const forged: ReadonlyArray<FieldIssue> =
    cursor !== undefined && Option.isNone(after) ? [{ path: "cursor", message: "no cursor of ours" }] : []
  return Either.isRight(size) && forged.length === 0
    ? Either.right({ limit: size.right, after: Option.getOrUndefined(after) })
    : Either.left(new ValidationFailed({ details: [...(Either.isLeft(size) ? [size.left] : []), ...forged] }))
}
