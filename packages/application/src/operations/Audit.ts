/**
 * Declares the audit, which recomputes every balance from the journals and checks further invariants of the ledger, in
 * one database snapshot.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface AuditCheck {
  readonly id: string
  /** The checked invariant as a sentence. */
  readonly invariant: string
  /** The number of rows that violate the invariant. */
  readonly violations: bigint
}

export interface AuditReport {
  readonly checks: ReadonlyArray<AuditCheck>
  /** Totals that are not checked, such as the number of settlements, the write-offs and the operator loss. */
  readonly figures: ReadonlyArray<{ readonly name: string; readonly value: string }>
}

export class Audit extends Context.Tag("@tollgate/application/Audit")<
  Audit,
  { readonly audit: Effect.Effect<AuditReport> }
>() {}
