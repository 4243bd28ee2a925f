/**
 * Runs the audit of the ledger for operators, and returns the result of the last audit
 * (docs/reference/operator.md#audit).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { type AuditRun, AuditRuns } from "@tollgate/application/operator/AuditRuns"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { withOnly } from "../http/RouteServices.ts"
import { instant, integer, orNull, text, timestamp, wholeNumber } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { forOperator, operatorServices } from "./OperatorCaller.ts"

const example = {
  actor: "ani",
  started_at: "2026-11-20T09:30:00.000Z",
  finished_at: "2026-11-20T09:30:02.000Z",
  ok: true,
  checks: [
    {
      id: "transfers-fit",
      invariant:
        "A transfer is in one unit, between a system account and an account of the kind that its code requires.",
      ok: true,
      violations: 0
    }
  ],
  figures: { accounts: "12", written_off_usd: "0.000000" }
}

const RunBody = Schema.Struct({
  actor: text("The operator who started the audit.", example.actor),
  started_at: timestamp("The time at which the audit started.", example.started_at),
  finished_at: timestamp("The time at which the audit finished.", example.finished_at),
  ok: Schema.Boolean.annotations({ description: "True if no check found a violation." }),
  checks: Schema.Array(
    Schema.Struct({
      id: text("The id of the check.", example.checks[0]?.id ?? ""),
      invariant: text("The checked invariant as a sentence.", example.checks[0]?.invariant ?? ""),
      ok: Schema.Boolean.annotations({ description: "True if no row violates the invariant." }),
      violations: integer("The number of rows that violate the invariant.", 0)
    }).annotations({ identifier: "AuditCheck" })
  ).annotations({ description: "The checks of the audit." }),
  figures: Schema.Record({ key: Schema.String, value: Schema.String }).annotations({
    description: "Totals that are not checked, by name, such as `settlements` and `written_off_usd`."
  })
}).annotations({ identifier: "AuditRun", examples: [example] })

const LastBody = Schema.Struct({
  audit: orNull(RunBody.annotations({ description: "The last audit, or `null` if no audit is stored." }))
}).annotations({ identifier: "LastAudit", examples: [{ audit: example }] })

const PATH = "/api/operator/audit"

const readLast = HttpApiEndpoint.get("lastAudit", PATH)
  .addSuccess(LastBody)
  .annotateContext(
    documented({
      summary: "Read the result of the last audit",
      description: "Returns the last audit that was started over HTTP. Audits of the command line are not returned.",
      errors: []
    })
  )

const run = HttpApiEndpoint.post("runAudit", PATH)
  .addSuccess(RunBody)
  .annotateContext(
    documented({
      summary: "Run an audit",
      description:
        "Recomputes every balance from the journals. The audit of a large ledger takes minutes. It continues if the " +
        "client disconnects, and its result is then the last audit. The request has no body.",
      errors: []
    })
  )

export class OperatorAuditApi extends HttpApiGroup.make("operatorAudit")
  .add(readLast)
  .add(run)
  .addError(OperatorError)
  .annotateContext(OpenApi.annotations({ title: "Operator: audit", description: "The audit of the ledger." })) {}

const toBody = ({ actor, finishedAt, report, startedAt }: AuditRun): typeof RunBody.Type => ({
  actor,
  started_at: instant(startedAt),
  finished_at: instant(finishedAt),
  ok: report.checks.every(({ violations }) => violations === 0n),
  checks: report.checks.map(({ id, invariant, violations }) => ({
    id,
    invariant,
    ok: violations === 0n,
    violations: wholeNumber(violations)
  })),
  figures: Object.fromEntries(report.figures.map(({ name, value }) => [name, value]))
})

const last = forOperator(() =>
  Effect.gen(function* () {
    const found = yield* (yield* AuditRuns).last
    const body: typeof LastBody.Type = { audit: Option.getOrNull(Option.map(found, toBody)) }
    return body
  })
)

const audited = forOperator(({ actor }) =>
  Effect.map(
    Effect.flatMap(AuditRuns, ({ run }) => run(actor)),
    toBody
  )
)

export const layer = HttpApiBuilder.group(gateway.add(OperatorAuditApi), "operatorAudit", (handlers) =>
  handlers.handleRaw("lastAudit", () => last).handleRaw("runAudit", () => audited)
).pipe(withOnly(...operatorServices, AuditRuns))
