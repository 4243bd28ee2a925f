/**
 * Addresses and domains that may not sign up.
 */

import type { Operator } from "@tollgate/domain/operations/Operation"
import type { BlacklistEntry, BlacklistPattern, PatternNotListed } from "@tollgate/domain/reseller/Blacklist"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class Blacklist extends Context.Tag("@tollgate/application/Blacklist")<
  Blacklist,
  {
    /** Whether one of `patternsAgainst(email)` is listed. */
    readonly covers: (email: Email) => Effect.Effect<boolean>
    /** By pattern. */
    readonly list: Effect.Effect<ReadonlyArray<BlacklistEntry>>
    /** Again: the entry as it is, and nothing in the audit log. */
    readonly add: (pattern: BlacklistPattern, operator: Operator) => Effect.Effect<BlacklistEntry>
    readonly remove: (pattern: BlacklistPattern, operator: Operator) => Effect.Effect<BlacklistEntry, PatternNotListed>
  }
>() {}
