/**
 * Reads the prepaid quota of resellers in Postgres, and adjusts it on behalf of an operator.
 *
 * The transaction locks the account row before it reads the transfers, so repeated adjustments for one reseller run one
 * after the other. The unique index of the `transfer` table detects an operation id that is repeated for another
 * reseller.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Quota } from "@tollgate/application/reseller/Quota"
import { type QuotaAccount, remaining } from "@tollgate/domain/ledger/Account"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import type { OperationId } from "@tollgate/domain/operations/Operation"
import { decideAdjustment, type EarlierAdjustment } from "@tollgate/domain/reseller/QuotaAdjustment"
import { type ResellerId, ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import { bookOnce, lockQuota, writePosted } from "../ledger/AccountRows.ts"
import * as AuditLog from "../operations/AuditLog.ts"

export const layer: Layer.Layer<Quota, never, SqlClient.SqlClient> = Layer.effect(
  Quota,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)

    const earlierAdjustment = (operationId: OperationId) =>
      Effect.map(
        sql<{ reseller_id: ResellerId; change: bigint }>`
          SELECT a.reseller_id, CASE WHEN a.id = t.credit_account THEN t.amount ELSE -t.amount END AS change
          FROM transfer t JOIN account a ON a.id IN (t.debit_account, t.credit_account) AND a.kind = 'reseller_quota'
          WHERE t.code = 'quota_adjust' AND t.ref = ${operationId}`,
        ([row]): EarlierAdjustment | undefined => row && { resellerId: row.reseller_id, change: row.change }
      )

    return {
      balance: (resellerId) =>
        Effect.flatMap(
          sql<{ balance: bigint }>`SELECT credits_posted - debits_posted AS balance FROM account
            WHERE kind = 'reseller_quota' AND reseller_id = ${resellerId}`,
          ([row]) =>
            row === undefined
              ? Effect.dieMessage("a reseller's quota account is missing")
              : Effect.succeed(UsdMicro(row.balance))
        ).pipe(sqlErrorsAreDefects),

      adjust: (adjustment, operator) =>
        Effect.gen(function* () {
          const { resellerId, change, operationId } = adjustment
          const before = yield* lockQuota(resellerId)
          if (before === undefined) return yield* new ResellerNotFound({ reseller: resellerId })
          const adjusted = (quota: QuotaAccount, alreadyApplied: boolean) => ({
            ...adjustment,
            balanceUsdMicro: remaining(quota),
            alreadyApplied
          })

          const { quota, booking } = yield* decideAdjustment(adjustment, before, yield* earlierAdjustment(operationId))
          if (booking === undefined) return adjusted(quota, true)
          if (!(yield* bookOnce(booking, operator.actor))) {
            // Another session has booked this operation id for another reseller since the read, so the adjustment is
            // decided again.
            yield* decideAdjustment(adjustment, before, yield* earlierAdjustment(operationId))
            return adjusted(before, true)
          }
          yield* writePosted(quota)
          const detail = { usd_micro: change.toString(), operation_id: operationId }
          yield* AuditLog.record({ operator, action: "quota.adjust", subject: resellerId, detail })
          return adjusted(quota, false)
        }).pipe(transact, withSql)
    }
  })
)
