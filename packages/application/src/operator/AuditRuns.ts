/**
 * Declares the stored results of audits that operators started over HTTP.
 */
import type { OperatorName } from "@tollgate/domain/operator/OperatorSession"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { AuditReport } from "../operations/Audit.ts"

export interface AuditRun {
  readonly actor: string
  readonly startedAt: Date
  readonly finishedAt: Date
  readonly report: AuditReport
}

export class AuditRuns extends Context.Tag("@tollgate/application/AuditRuns")<
  AuditRuns,
  {
    /**
     * Runs an audit and stores its result. Concurrent callers on one node share one audit, which continues if the
     * callers disconnect.
     */
    readonly run: (actor: OperatorName) => Effect.Effect<AuditRun>
    /** Returns the last stored result; none if no result was stored. */
    readonly last: Effect.Effect<Option.Option<AuditRun>>
  }
>() {}
