/**
 * Defines the blacklist of emails that cannot sign up as a reseller. A pattern blocks one email address or a whole
 * domain:
 *
 *     bad@example.com      only this address
 *     @example.com         all addresses at example.com, but not at sub.example.com
 */
import * as Schema from "effect/Schema"
import { AddressText, Email } from "../validation/Email.ts"

const isAddress = Schema.is(Schema.typeSchema(Email))

export const BlacklistPattern = AddressText.pipe(
  Schema.filter((s) => isAddress(s.startsWith("@") ? `a${s}` : s) || "an email address, or @ followed by a domain"),
  Schema.brand("BlacklistPattern")
)
export type BlacklistPattern = typeof BlacklistPattern.Type

export interface BlacklistEntry {
  readonly pattern: BlacklistPattern
  readonly createdAt: Date
}

/** The email or its domain is on the blacklist. */
export class EmailBlacklisted extends Schema.TaggedError<EmailBlacklisted>()("EmailBlacklisted", {}) {}

/** The pattern is not on the blacklist. */
export class PatternNotListed extends Schema.TaggedError<PatternNotListed>()("PatternNotListed", {
  pattern: Schema.String
}) {}

/** Returns the two patterns that block this email: the address and its domain. */
export const patternsAgainst = (email: Email): ReadonlyArray<BlacklistPattern> => [
  BlacklistPattern.make(email),
  BlacklistPattern.make(email.slice(email.lastIndexOf("@")))
]
