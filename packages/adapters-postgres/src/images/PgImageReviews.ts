/**
 * Lists the reviews of image requests in Postgres, and resolves them on behalf of an operator.
 *
 * The transaction locks the review before the pay-as-you-go account. When two operators resolve the same review, one
 * transaction waits for the other, and is refused if the other commits.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { type ImageReview, ImageReviews } from "@tollgate/application/images/ImageReviews"
import type { UserId } from "@tollgate/domain/customer/User"
import { decideResolution, ReviewNotFound, type ReviewReason } from "@tollgate/domain/images/ImageReview"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { type PaygAccount, remaining } from "@tollgate/domain/ledger/Account"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { listSql, type PositionRow, toPosition } from "../client/Positions.ts"
import { sqlErrorsAreDefects, transact } from "../client/Transact.ts"
import { type AccountRow, book, toAccount, writePosted } from "../ledger/AccountRows.ts"
import * as AuditLog from "../operations/AuditLog.ts"

export const layer: Layer.Layer<ImageReviews, never, SqlClient.SqlClient> = Layer.effect(
  ImageReviews,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const withSql = Effect.provideService(SqlClient.SqlClient, sql)

    const { above, oldestFirst } = yield* listSql("r.queued_at", "r.request_id")

    const lockReview = (requestId: RequestId) =>
      Effect.flatMap(
        sql<ReviewRow>`${sql.literal(REVIEWS)} WHERE r.request_id = ${requestId} FOR UPDATE OF r`,
        ([row]) => (row === undefined ? Effect.fail(new ReviewNotFound({ requestId })) : Effect.succeed(row))
      )

    return {
      list: (which, { limit, after }) =>
        sql<ReviewRow>`${sql.literal(REVIEWS)} WHERE ${which === "waiting" ? sql`r.resolution IS NULL` : sql`true`}
          AND ${above(after)} ${oldestFirst} LIMIT ${limit}`.pipe(
          Effect.map((rows) => rows.map(fromRow)),
          sqlErrorsAreDefects
        ),

      resolve: (requestId, resolution, operator) =>
        Effect.gen(function* () {
          const { resolution: earlier, user_id } = yield* lockReview(requestId)
          const before = yield* lockPayg(user_id)
          const { booking, payg } = yield* decideResolution(requestId, resolution, earlier ?? undefined, before)
          const charged = resolution._tag === "Charged" ? resolution.amount : null
          yield* sql`UPDATE image_review
            SET resolution = ${charged === null ? "waived" : "charged"}, resolved_at = greatest(queued_at, clock_timestamp()),
              resolved_by = ${operator.actor}, resolved_because = ${operator.reason}, charged_usd_micro = ${charged}
            WHERE request_id = ${requestId}`
          if (booking !== undefined && payg !== undefined) {
            yield* book(booking, operator.actor)
            yield* writePosted(payg)
          }
          const detail = { user_id, ...(charged === null ? {} : { usd_micro: charged.toString() }) }
          const action = charged === null ? "image.waive" : "image.charge"
          yield* AuditLog.record({ operator, action, subject: requestId, detail })
          const review = fromRow(yield* lockReview(requestId))
          return { ...review, balancePico: payg === undefined ? UsdPico(0n) : remaining(payg) }
        }).pipe(transact, withSql)
    }
  })
)

const lockPayg = (userId: UserId): Effect.Effect<PaygAccount | undefined, SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<AccountRow>`SELECT id, credits_posted, debits_posted, debits_pending FROM account
      WHERE kind = 'payg' AND user_id = ${userId} FOR NO KEY UPDATE`
    return row && toAccount(row, UsdPico)
  })

const REVIEWS = `
  SELECT (extract(epoch FROM r.queued_at) * 1000000)::bigint AS at_micros, r.request_id AS position_id,
    r.request_id, i.user_id, u.email, m.public_name AS model, r.reason, r.queued_at, r.resolution, r.resolved_at,
    r.resolved_by, r.resolved_because, r.charged_usd_micro
  FROM image_review r
  JOIN image_request i ON i.request_id = r.request_id
  JOIN app_user u ON u.id = i.user_id
  JOIN settlement s ON s.request_id = r.request_id
  JOIN model m ON m.id = s.model_id`

interface ReviewRow extends PositionRow {
  readonly request_id: RequestId
  readonly user_id: UserId
  readonly email: Email
  readonly model: string
  readonly reason: ReviewReason
  readonly queued_at: Date
  readonly resolution: "waived" | "charged" | null
  readonly resolved_at: Date | null
  readonly resolved_by: string | null
  readonly resolved_because: string | null
  readonly charged_usd_micro: bigint | null
}

const fromRow = (row: ReviewRow): ImageReview => ({
  position: toPosition(row),
  requestId: row.request_id,
  userId: row.user_id,
  email: row.email,
  model: row.model,
  reason: row.reason,
  queuedAt: row.queued_at,
  resolved:
    row.resolved_at === null
      ? undefined
      : {
          resolution:
            row.charged_usd_micro === null
              ? { _tag: "Waived" }
              : { _tag: "Charged", amount: UsdMicro(row.charged_usd_micro) },
          at: row.resolved_at,
          operator: { actor: row.resolved_by ?? "", reason: row.resolved_because ?? "" }
        }
})
