/**
 * Who may not sign up: one address, or everybody of a domain.
 *
 *     bad@example.com      this address
 *     @example.com         every address at example.com, but not at sub.example.com
 */
import * as Schema from "effect/Schema"
import { AddressText, Email } from "../validation/Email.ts"

const isAddress = Schema.is(Schema.typeSchema(Email))

export const BlacklistPattern = AddressText.pipe(
  Schema.filter((s) => isAddress(s.startsWith("@") ? `a${s}` : s) || "an address, or @ and a domain"),
  Schema.brand("BlacklistPattern")
)
export type BlacklistPattern = typeof BlacklistPattern.Type

export interface BlacklistEntry {
  readonly pattern: BlacklistPattern
  readonly createdAt: Date
}

/** This email, or its whole domain, may not sign up. */
export class EmailBlacklisted extends Schema.TaggedError<EmailBlacklisted>()("EmailBlacklisted", {}) {}

/** The pattern is not on the list. */
export class PatternNotListed extends Schema.TaggedError<PatternNotListed>()("PatternNotListed", {
  pattern: Schema.String
}) {}

/** The patterns that match this email. */
export const patternsAgainst = (email: Email): ReadonlyArray<BlacklistPattern> => [
  BlacklistPattern.make(email),
  BlacklistPattern.make(email.slice(email.lastIndexOf("@")))
]
