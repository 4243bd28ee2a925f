/**
 * What a command answers: one JSON document for programs, or text for people. Nothing else reaches stdout.
 */
import * as Console from "effect/Console"
import type * as Effect from "effect/Effect"
import { encode, type Json } from "./JsonDocument.ts"
import { printable } from "./Printable.ts"

export interface Answer {
  readonly document: Json
  readonly text: string
  /** What the answer shows is not well: the command ends with 1 after printing it. */
  readonly trouble?: { readonly code: string; readonly message: string }
}

export const print = (json: boolean, { document, text }: Answer): Effect.Effect<void> =>
  Console.log(json ? encode(document) : printable(text))

/** For whoever watches: goes to stderr, so that it never ends up in a pipe. */
export const remark = (text: string): Effect.Effect<void> => Console.error(printable(text))
