/**
 * Describes the mistakes in a catalog file, one line for each wrong member.
 *
 * For a wrong member, Effect Schema reports one issue for each form that the member can have, and one more if the
 * member is optional. The issues of one member are merged into one line.
 */
import * as ParseResult from "effect/ParseResult"
import { shortened } from "../validation/Text.ts"

const MAX_SHOWN_CHARACTERS = 100
const MISMATCH = /^Expected (.+), actual (.+)$/s

/** Returns one line for each wrong member. A line begins with the path of the member, or with `the file`. */
export const issuesOf = (error: ParseResult.ParseError): ReadonlyArray<string> => {
  const messages = new Map<string, Array<string>>()
  const containers = new Set<string>()
  for (const { path, message } of ParseResult.ArrayFormatter.formatErrorSync(error)) {
    const member = path.join(".")
    messages.set(member, [...(messages.get(member) ?? []), message])
    for (let length = 1; length < path.length; length++) containers.add(path.slice(0, length).join("."))
  }
  // If a part of a member is wrong, the issues of this part describe the mistake. The issues of the member are omitted.
  return [...messages]
    .filter(([member]) => !containers.has(member))
    .map(([member, own]) => `${member === "" ? "the file" : member}: ${merged(own)}`)
}

/** Merges the messages about one member. */
const merged = (messages: ReadonlyArray<string>): string => {
  const mismatches = messages.flatMap((message) => {
    const [, expected, actual] = MISMATCH.exec(message) ?? []
    return expected === undefined || actual === undefined ? [] : [{ expected: plain(expected), actual }]
  })
  const other = messages.find((message) => !MISMATCH.test(message))
  if (other !== undefined || mismatches[0] === undefined) return other ?? ""
  const expected = new Set(mismatches.map((mismatch) => mismatch.expected))
  // An optional member may be absent, but the line is about a member that is present.
  if (expected.size > 1) expected.delete("undefined")
  return `Expected ${[...expected].join(" or ")}, actual ${shortened(mismatches[0].actual, MAX_SHOWN_CHARACTERS)}`
}

/** Replaces Effect Schema's notation of an expected object or array by words. Other texts stay unchanged. */
const plain = (expected: string): string => {
  if (/^(\{|\(?Struct\b)/.test(expected)) return "an object"
  return /^(readonly \[|ReadonlyArray<)/.test(expected) ? "an array" : expected
}
