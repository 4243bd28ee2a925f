/**
 * Conditions on texts that callers send: predicates for `Schema.filter`, which return the reason of a refusal.
 *
 * Characters are Unicode code points: a surrogate pair counts as one.
 */
import * as Schema from "effect/Schema"

type Condition = (text: string) => true | string

export const charactersWithin =
  (min: number, max: number): Condition =>
  (text) => {
    const count = [...text].length
    return (count >= min && count <= max) || `${min} to ${max} characters`
  }

/** Postgres cannot store a NUL character in a text. */
export const noNul: Condition = (text) => !text.includes("\u0000") || "no NUL character"

/** Half a surrogate pair has no UTF-8 form, so the database cannot store it unchanged. */
export const noHalfSurrogate: Condition = (text) => !/\p{Surrogate}/u.test(text) || "no half surrogate pair"

const oneLine: Condition = (text) => !/\p{Cc}/u.test(text) || "one line, no control characters"

/** A name that a caller gives: 1 to 200 characters on one line, without white space around it. */
export const Name = Schema.Trim.pipe(
  Schema.filter(charactersWithin(1, 200)),
  Schema.filter(oneLine),
  Schema.filter(noHalfSurrogate)
)
