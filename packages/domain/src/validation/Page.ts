/**
 * Reads the whole numbers in queries: the `limit` and `offset` of a page of top-up orders
 * (docs/reference/reseller.md#top-7), and the `limit` of other lists.
 */
import * as Either from "effect/Either"
import type { FieldIssue } from "./Validation.ts"
import { ValidationFailed } from "./Validation.ts"

export interface Page {
  readonly limit: number
  readonly offset: number
}

/** The query parameters as received. */
export interface PageQuery {
  readonly limit?: string | undefined
  readonly offset?: string | undefined
}

export interface Range {
  readonly default: number
  readonly min: number
  readonly max: number
}

const TOPUP_LIMIT: Range = { default: 20, min: 1, max: 100 }
const TOPUP_OFFSET: Range = { default: 0, min: 0, max: 2_147_483_647 }

/** Reads a whole number within a range. Returns the default if the text is absent. */
export const readWhole = (path: string, text: string | undefined, range: Range): Either.Either<number, FieldIssue> => {
  if (text === undefined) return Either.right(range.default)
  const value = /^-?\d{1,15}$/.test(text) ? +text : Number.NaN
  return value >= range.min && value <= range.max
    ? Either.right(value)
    : Either.left({ path, message: `a whole number from ${range.min} to ${range.max}` })
}

export const readTopUpPage = (query: PageQuery): Either.Either<Page, ValidationFailed> => {
  const limit = readWhole("limit", query.limit, TOPUP_LIMIT)
  const offset = readWhole("offset", query.offset, TOPUP_OFFSET)
  if (Either.isRight(limit) && Either.isRight(offset)) {
    return Either.right({ limit: limit.right, offset: offset.right })
  }
  const details = [limit, offset].flatMap((read) => (Either.isLeft(read) ? [read.left] : []))
  return Either.left(new ValidationFailed({ details }))
}
