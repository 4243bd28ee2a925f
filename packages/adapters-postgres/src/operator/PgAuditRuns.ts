/**
 * Runs audits for operators and stores their results in Postgres, so that every node returns the last result.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Audit, type AuditReport } from "@tollgate/application/operations/Audit"
import * as SingleFlight from "@tollgate/application/operations/SingleFlight"
import { type AuditRun, AuditRuns } from "@tollgate/application/operator/AuditRuns"
import type { OperatorName } from "@tollgate/domain/operator/OperatorSession"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { jsonText, nextUuidV7 } from "../client/SqlValues.ts"
import { databaseTime, sqlErrorsAreDefects } from "../client/Transact.ts"

interface RunRow {
  readonly actor: string
  readonly started_at: Date
  readonly finished_at: Date
  readonly report: StoredReport
}

/** A report as JSON. The numbers of violations are strings of digits. */
interface StoredReport {
  readonly checks: ReadonlyArray<{ readonly id: string; readonly invariant: string; readonly violations: string }>
  readonly figures: AuditReport["figures"]
}

export const layer: Layer.Layer<AuditRuns, never, SqlClient.SqlClient | Audit> = Layer.scoped(
  AuditRuns,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)
    const { audit } = yield* Audit
    const audits = yield* SingleFlight.make<"audit", AuditRun>(1)

    const run = (actor: OperatorName): Effect.Effect<AuditRun> =>
      Effect.gen(function* () {
        const startedAt = yield* databaseTime
        const report = yield* audit
        const finishedAt = yield* databaseTime
        yield* sql`INSERT INTO audit_run (id, actor, started_at, finished_at, report)
          VALUES (${yield* nextUuidV7}, ${actor}, ${startedAt}, ${finishedAt}, ${jsonText(report)}::jsonb)`
        return { actor, startedAt, finishedAt, report }
      }).pipe(sqlErrorsAreDefects, withSql)

    return {
      run: (actor) => audits.run("audit", () => run(actor), Effect.dieMessage("an audit runs under another key")),
      last: Effect.map(
        sql<RunRow>`SELECT actor, started_at, finished_at, report FROM audit_run
          ORDER BY finished_at DESC, id DESC LIMIT 1`,
        ([row]) => Option.map(Option.fromNullable(row), toRun)
      ).pipe(sqlErrorsAreDefects)
    }
  })
)

const toRun = ({ actor, started_at, finished_at, report }: RunRow): AuditRun => ({
  actor,
  startedAt: started_at,
  finishedAt: finished_at,
  report: {
    checks: report.checks.map((check) => ({ ...check, violations: BigInt(check.violations) })),
    figures: report.figures
  }
})
