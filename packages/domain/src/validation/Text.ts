/**
 * Defines conditions on texts that callers send. A condition is a predicate for `Schema.filter`: it returns true, or a
 * description of the expected form.
 *
 * Characters are Unicode code points: a surrogate pair counts as one character.
 */
import * as Schema from "effect/Schema"

type Condition = (text: string) => true | string

export const charactersWithin =
  (min: number, max: number): Condition =>
  (text) => {
    const count = [...text].length
    return (count >= min && count <= max) || `${min} to ${max} characters`
  }

/** Rejects NUL characters, which Postgres cannot store in a text. */
export const noNul: Condition = (text) => !text.includes("\u0000") || "no NUL character"

/** Rejects unpaired surrogates: they have no UTF-8 form, so the database cannot store them unchanged. */
export const noHalfSurrogate: Condition = (text) => !/\p{Surrogate}/u.test(text) || "no unpaired surrogates"

export const oneLine: Condition = (text) => !/\p{Cc}/u.test(text) || "one line, no control characters"

/**
 * Replaces the part of a text after `maxLength` UTF-16 code units by `...`. A surrogate pair is never divided, because
 * many JSON parsers refuse an unpaired surrogate.
 */
export const shortened = (text: string, maxLength: number): string =>
  text.length > maxLength ? `${text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "")}...` : text

/** Returns whether a text can be the public name of a model: 1 to 200 characters without a NUL character. */
export const isPublicName = (text: string): boolean =>
  charactersWithin(1, 200)(text) === true && !text.includes("\u0000")

/** A name that a caller gives: 1 to 200 characters on one line, without leading or trailing white space. */
export const Name = Schema.Trim.pipe(
  Schema.filter(charactersWithin(1, 200)),
  Schema.filter(oneLine),
  Schema.filter(noHalfSurrogate)
)
