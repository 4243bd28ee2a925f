/**
 * Defines the query for the public rankings and its errors. The default window is `week`. A table in the HTTP adapter
 * maps each error to an HTTP status and an error code.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { Modality, Window } from "./Window.ts"

/** This deployment publishes no rankings. */
export class RankingsDisabled extends Schema.TaggedError<RankingsDisabled>()("RankingsDisabled", {}) {}

/** The requested window or modality does not exist. */
export class InvalidWindow extends Schema.TaggedError<InvalidWindow>()("InvalidWindow", {
  param: Schema.Literal("window", "modality"),
  allowed: Schema.Array(Schema.String)
}) {}

/** The usage history could not be read, or the document could not be computed. `reason` is for the log. */
export class RankingsUnavailable extends Schema.TaggedError<RankingsUnavailable>()("RankingsUnavailable", {
  reason: Schema.String
}) {}

/** The query parameters as received. */
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
