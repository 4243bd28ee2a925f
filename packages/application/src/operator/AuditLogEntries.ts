/**
 * Declares the port with which operators read the audit log.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface AuditLogEntry {
  /** The number of the entry as digits. A later entry has a higher number. */
  readonly sequence: string
  readonly at: Date
  readonly actor: string
  readonly action: string
  /** The changed object: an id, a pattern of the blacklist, or a name such as `catalog`. */
  readonly subject: string
  readonly reason: string
  /** Further facts as JSON values, without secrets. */
  readonly detail: Readonly<Record<string, unknown>>
}

export class AuditLogEntries extends Context.Tag("@tollgate/application/AuditLogEntries")<
  AuditLogEntries,
  {
    /** Returns at most `limit` entries before the entry with the number `before`, newest first. */
    readonly page: (limit: number, before: string | undefined) => Effect.Effect<ReadonlyArray<AuditLogEntry>>
  }
>() {}
