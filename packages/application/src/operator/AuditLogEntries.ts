/**
 * Declares the list of the audit log for operators.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface AuditLogEntry {
  /** The number of the entry as digits. A later entry has a higher number. */
  readonly sequence: string
  readonly at: Date
  readonly actor: string
  readonly action: string
  /** The id of the changed object. */
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
