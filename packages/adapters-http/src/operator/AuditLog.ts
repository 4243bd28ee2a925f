/**
 * Lists the audit log for operators (docs/reference/operator.md#audit).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import type { AuditLogEntry } from "@tollgate/application/operator/AuditLogEntries"
import { AuditLogEntries } from "@tollgate/application/operator/AuditLogEntries"
import { listAuditLog } from "@tollgate/application/operator/OperatorLists"
import * as Schema from "effect/Schema"
import { withOnly } from "../http/RouteServices.ts"
import { digits, instant, text, timestamp } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, pageOf } from "../openapi/ListDocs.ts"
import { documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { operatorServices, pageForOperator } from "./OperatorCaller.ts"

const example = {
  sequence: "4711",
  at: "2026-11-20T09:30:00.000Z",
  actor: "ani",
  action: "reseller.approve",
  subject: "019a9f0e-1c52-7d1a-9a41-6f1f0d7b2c11",
  reason: "documents checked",
  detail: { email: "owner@tokotoken.example", status_before: "pending", status: "active" }
}

const EntryBody = Schema.Struct({
  sequence: digits("The number of the entry; a later entry has a higher number.", example.sequence),
  at: timestamp("The time of the change.", example.at),
  actor: text("The author of the change: an operator, `reseller:<id>`, `server` or `demo`.", example.actor),
  action: text("The kind of the change.", example.action),
  subject: text(
    "The changed object: its id, a pattern of the blacklist, or a name such as `catalog`.",
    example.subject
  ),
  reason: text("The reason for the change.", example.reason),
  detail: Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
    description: "Further facts about the change, without secrets."
  })
}).annotations({ identifier: "AuditLogEntry", examples: [example] })

const EntryPage = pageOf(EntryBody, {
  identifier: "AuditLogPage",
  description: "The entries, newest first.",
  example
})

const readEntries = HttpApiEndpoint.get("listAuditLog", "/api/operator/audit-log")
  .setUrlParams(Schema.Struct(cursorParameters))
  .addSuccess(EntryPage)
  .annotateContext(documented({ summary: "List the audit log", errors: ["ValidationFailed"] }))

export class OperatorAuditLogApi extends HttpApiGroup.make("operatorAuditLog")
  .add(readEntries)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({
      title: "Operator: audit log",
      description: "The changes of operators, and the changes of resellers to keys, customers, webhooks and passwords."
    })
  ) {}

const toBody = ({ at, ...entry }: AuditLogEntry): typeof EntryBody.Type => ({ ...entry, at: instant(at) })

export const layer = HttpApiBuilder.group(gateway.add(OperatorAuditLogApi), "operatorAuditLog", (handlers) =>
  handlers.handleRaw("listAuditLog", ({ urlParams }) => pageForOperator(urlParams, listAuditLog, toBody))
).pipe(withOnly(...operatorServices, AuditLogEntries, CursorSealer))
