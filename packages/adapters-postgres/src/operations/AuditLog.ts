/**
 * Writes the audit log. It contains changes by operators, changes by a server at its start, and actions of resellers
 * that concern API keys, customer links, passwords and webhooks. An entry is written in the same transaction as its
 * change, and is never modified.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { ReviewMove } from "@tollgate/domain/reseller/Review"
import * as Effect from "effect/Effect"
import { jsonText } from "../client/SqlValues.ts"

export interface AuditEntry {
  readonly operator: Operator
  readonly action:
    | "user.create"
    | "key.create"
    | "key.limits"
    | "key.revoke"
    | "payg.credit"
    | "catalog.apply"
    | `reseller.${ReviewMove}`
    | "reseller.password"
    | "blacklist.add"
    | "blacklist.remove"
    | "quota.adjust"
    | "customer.link"
    | "image.waive"
    | "image.charge"
    | "topup.skip"
    | "console.create"
    | "console.open"
    | "console.end"
    | `webhook.${"create" | "change" | "delete" | "rotate" | "test" | "replay"}`
  /** Id or name of the changed object. */
  readonly subject: string
  /** Further facts, with amounts as strings of digits. Secrets are never included. */
  readonly detail: Readonly<Record<string, string | number | ReadonlyArray<string>>>
}

/** Returns the actor of changes that a reseller requests. */
export const actorOf = (resellerId: ResellerId): string => `reseller:${resellerId}`

export const itself = (resellerId: ResellerId): Operator => ({
  actor: actorOf(resellerId),
  reason: "asked by the reseller"
})

export const record = ({
  operator,
  action,
  subject,
  detail
}: AuditEntry): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`INSERT INTO audit_log (actor, action, subject, reason, detail)
      VALUES (${operator.actor}, ${action}, ${subject}, ${operator.reason}, ${jsonText(detail)}::jsonb)`
  })
