/**
 * Which rankings are asked for: the week's, when nothing else is said.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { InvalidWindow } from "./RankingsErrors.ts"
import { Modality, Window } from "./Window.ts"

/** Query parameters as they came: text, or not there. */
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
