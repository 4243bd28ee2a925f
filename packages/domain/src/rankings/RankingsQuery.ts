/**
 * Reading the public rankings: the query, by default the week's, and its failures. The wire form of each failure is decided
 * in one table of the HTTP adapter.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { Modality, Window } from "./Window.ts"

/** This installation publishes no rankings. */
export class RankingsDisabled extends Schema.TaggedError<RankingsDisabled>()("RankingsDisabled", {}) {}

/** There is no such window or modality. */
export class InvalidWindow extends Schema.TaggedError<InvalidWindow>()("InvalidWindow", {
  param: Schema.Literal("window", "modality"),
  allowed: Schema.Array(Schema.String)
}) {}

/** The history could not be read or the document not made; the reason is for the log. */
export class RankingsUnavailable extends Schema.TaggedError<RankingsUnavailable>()("RankingsUnavailable", {
  reason: Schema.String
}) {}

/** Query parameters as received. */
export interface RankingsQuery {
  readonly window?: string | undefined
  readonly modality?: string | undefined
}

const isWindow = Schema.is(Window)
const isModality = Schema.is(Modality)

export const readWindow = ({
  window = "week",
  modality = "text"
}: RankingsQuery): Either.Either<Window, InvalidWindow> => {
  if (!isWindow(window)) return Either.left(new InvalidWindow({ param: "window", allowed: Window.literals }))
  if (!isModality(modality)) return Either.left(new InvalidWindow({ param: "modality", allowed: Modality.literals }))
  return Either.right(window)
}
