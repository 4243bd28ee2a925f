/**
 * A user of the service owns balances and API keys. A reseller's customer is a user who is linked to the reseller.
 */
import * as Schema from "effect/Schema"
import type { Email } from "../validation/Email.ts"

export const UserId = Schema.UUID.pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type

export interface User {
  readonly id: UserId
  readonly email: Email
  readonly status: "active" | "blocked"
  readonly createdAt: Date
}

/** A user with this email exists. */
export class UserExists extends Schema.TaggedError<UserExists>()("UserExists", { email: Schema.String }) {}

/** There is no user with this email. */
export class UserNotFound extends Schema.TaggedError<UserNotFound>()("UserNotFound", { email: Schema.String }) {}
