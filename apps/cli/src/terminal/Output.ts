/**
 * Prints the output of a command to stdout: text for people, or one JSON document or CSV for programs. Notes are
 * printed to stderr.
 *
 * A JSON document has members in snake_case, timestamps in ISO 8601 with milliseconds, amounts of money as decimal
 * strings, and token counts as numbers. Prices are numbers as in a catalog file. The limits of API keys and the
 * thresholds of endpoints are numbers as in the HTTP API.
 */
import { replaceUnsafe } from "@tollgate/application/operations/UnsafeCharacters"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [member: string]: Json }

export interface Report {
  readonly document: Json
  readonly text: string
  /** Set if the report shows a problem: the command then prints the report and exits with 1. */
  readonly problem?: { readonly code: string; readonly message: string }
}

export const print = (json: boolean, { document, text }: Report): Effect.Effect<void> =>
  Console.log(json ? encode(document) : printable(text))

/** Prints to stderr, so that the text is not part of the output on stdout. */
export const printNote = (text: string): Effect.Effect<void> => Console.error(printable(text))

/** Writes to stdout, and waits until the text is written, so that the memory does not depend on the length of a CSV. */
export const writeOut = (text: string): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    process.stdout.write(text, () => resume(Effect.void))
  })

export const encode = (document: Json): string => JSON.stringify(document, null, 2)

/** Converts a count, a catalog price or a threshold. All of them are below 2^53, so the conversion is exact. */
export const count = (quantity: bigint): number => Number(quantity)

export const timestamp = (date: Date): string => date.toISOString()

const escape = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** Escapes unsafe characters, including line breaks, so that the text is one line that is safe to print. */
export const printableLine = (text: string): string => replaceUnsafe(text, escape)

const printable = (text: string): string => text.split("\n").map(printableLine).join("\n")
