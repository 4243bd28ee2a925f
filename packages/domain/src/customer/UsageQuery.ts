/**
 * Which page of settled usage is asked for (spec: Usage page size; gap E5).
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { readWhole } from "../validation/Page.ts"
import { type FieldIssue, ValidationFailed } from "../validation/Validation.ts"
import { fromText, type UsagePosition } from "./UsagePosition.ts"

/** Query parameters as they came: text, or not there. */
export interface UsageQuery {
  readonly limit?: string | undefined
  readonly cursor?: string | undefined
}

export interface UsagePage {
  readonly limit: number
  /** The page begins after this item; at the newest when absent. */
  readonly after: UsagePosition | undefined
}

/** `open` gives what a genuine cursor carries, and nothing for any other. */
export const readUsagePage = (
  { limit, cursor }: UsageQuery,
  open: (cursor: string) => Option.Option<string>
): Either.Either<UsagePage, ValidationFailed> => {
  const size = readWhole("limit", limit, { default: 50, min: 1, max: 100 })
  const after = cursor === undefined ? Option.none() : Option.flatMap(open(cursor), fromText)
  const forged: ReadonlyArray<FieldIssue> =
    cursor !== undefined && Option.isNone(after) ? [{ path: "cursor", message: "no cursor of ours" }] : []
  return Either.isRight(size) && forged.length === 0
    ? Either.right({ limit: size.right, after: Option.getOrUndefined(after) })
    : Either.left(new ValidationFailed({ details: [...(Either.isLeft(size) ? [size.left] : []), ...forged] }))
}
