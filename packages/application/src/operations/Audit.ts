/**
 * The audit: every balance recomputed from the journals, in one snapshot.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface AuditCheck {
  readonly id: string
  /** The invariant, as a sentence. */
  readonly invariant: string
  /** Rows that break it; 0 is clean. */
  readonly violations: bigint
}

export interface AuditReport {
  readonly checks: ReadonlyArray<AuditCheck>
  /** How much was looked at and what it says: accounts, settlements, written off, supplier usage nobody paid for. */
  readonly figures: ReadonlyArray<{ readonly name: string; readonly value: string }>
}

export class Audit extends Context.Tag("@tollgate/application/Audit")<
  Audit,
  { readonly audit: Effect.Effect<AuditReport> }
>() {}
