/**
 * Email addresses and domains that cannot sign up.
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
    /** All entries, ordered by pattern. */
    readonly list: Effect.Effect<ReadonlyArray<BlacklistEntry>>
    /** A pattern that is listed already is returned unchanged, without an entry in the audit log. */
    readonly add: (pattern: BlacklistPattern, operator: Operator) => Effect.Effect<BlacklistEntry>
    readonly remove: (pattern: BlacklistPattern, operator: Operator) => Effect.Effect<BlacklistEntry, PatternNotListed>
  }
>() {}
