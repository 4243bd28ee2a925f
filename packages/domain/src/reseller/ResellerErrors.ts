/**
 * How a request of a reseller can be refused. What each looks like on the wire is decided in one table of the HTTP
 * adapter; no status or code stands here.
 */
import * as Schema from "effect/Schema"
import { ResellerStatus } from "./Reseller.ts"

/** There is a reseller of this email already. */
export class EmailExists extends Schema.TaggedError<EmailExists>()("EmailExists", {}) {}

/** This email, or its whole domain, may not sign up. */
export class EmailBlacklisted extends Schema.TaggedError<EmailBlacklisted>()("EmailBlacklisted", {}) {}

/** Wrong email or password, or a token that is missing, wrong, too old, or of somebody who may not use it any more. */
export class InvalidCredentials extends Schema.TaggedError<InvalidCredentials>()("InvalidCredentials", {}) {}

/** The password is right, but the reseller is not active. */
export class ResellerNotActive extends Schema.TaggedError<ResellerNotActive>()("ResellerNotActive", {
  status: ResellerStatus
}) {}
