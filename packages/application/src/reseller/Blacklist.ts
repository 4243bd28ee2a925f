/**
 * Declares the store of the blacklist: email addresses and domains that cannot sign up as a reseller.
 */
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { BlacklistEntry, BlacklistPattern, PatternNotListed } from "@tollgate/domain/reseller/Blacklist"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class Blacklist extends Context.Tag("@tollgate/application/Blacklist")<
  Blacklist,
  {
    /** Returns true if the blacklist contains the address or its domain. */
    readonly covers: (email: Email) => Effect.Effect<boolean>
    /** Returns all entries, ordered by pattern. */
    readonly list: Effect.Effect<ReadonlyArray<BlacklistEntry>>
    /** Returns at most `limit` entries after a pattern, ordered by pattern. */
    readonly page: (limit: number, after: string | undefined) => Effect.Effect<ReadonlyArray<BlacklistEntry>>
    /**
     * Adds a pattern, and records the addition in the audit log. If the pattern is already listed, returns the existing
     * entry and records nothing.
     */
    readonly add: (pattern: BlacklistPattern, operator: Operator) => Effect.Effect<BlacklistEntry>
    readonly remove: (pattern: BlacklistPattern, operator: Operator) => Effect.Effect<BlacklistEntry, PatternNotListed>
  }
>() {}
