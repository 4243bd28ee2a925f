/**
 * Writes the mints, the top-ups and the quota movements of a reseller as CSV (docs/reference/reseller.md#k5).
 */
import type { ListedMint } from "@tollgate/domain/mint/Mint"
import type { QuotaMovement } from "@tollgate/domain/reseller/QuotaMovement"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { orderNumberOf, paymentStatusOf, type TopUpOrder, tokenKindOf } from "@tollgate/domain/topup/TopUpOrder"
import { type DaysQuery, readTimeRange, type TimeRange } from "@tollgate/domain/validation/Days"
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { MintHistory } from "../mint/MintHistory.ts"
import { type Column, csvOf, exact, text } from "../operations/CsvExport.ts"
import { TopUpOrders } from "../topup/TopUpOrders.ts"
import { QuotaMovements } from "./QuotaMovements.ts"

const readRange = (query: DaysQuery): Either.Either<TimeRange, ValidationFailed> =>
  Either.mapLeft(readTimeRange(query), (details) => new ValidationFailed({ details }))

const mintColumns: ReadonlyArray<Column<ListedMint>> = [
  ["minted_at", ({ mintedAt }) => exact(mintedAt)],
  ["operation_id", ({ operationId }) => text(operationId)],
  ["customer_user_id", ({ customerUserId }) => exact(customerUserId)],
  ["customer_email", ({ customerEmail }) => text(customerEmail)],
  ["model_name", ({ modelName }) => text(modelName)],
  ["plan_tier_id", ({ planTierId }) => exact(planTierId)],
  ["granted_tokens", ({ grantedTokens }) => exact(grantedTokens)],
  ["price_usd_micro", ({ priceUsdMicro }) => exact(priceUsdMicro)],
  ["balance_after", ({ balanceAfter }) => exact(balanceAfter)]
]

export const exportMints = (resellerId: ResellerId, query: DaysQuery) =>
  Effect.gen(function* () {
    const range = yield* readRange(query)
    const { list } = yield* MintHistory
    return yield* csvOf({
      columns: mintColumns,
      read: (limit, after) => list(resellerId, { limit, after: after?.position, range })
    })
  })

const rupiahOf = ({ amount }: TopUpOrder) => (amount._tag === "Rupiah" ? amount : undefined)

const topUpColumns: ReadonlyArray<Column<TopUpOrder>> = [
  ["created_at", ({ createdAt }) => exact(createdAt)],
  ["order_number", ({ id }) => exact(orderNumberOf(id))],
  ["payment_method", ({ method }) => exact(method)],
  ["provider", ({ provider }) => exact(provider)],
  ["amount_idr", (order) => exact(rupiahOf(order)?.amountIdr)],
  ["fee_idr", (order) => exact(rupiahOf(order)?.feeIdr)],
  ["total_idr", (order) => exact(rupiahOf(order)?.totalIdr)],
  ["token_kind", (order) => exact(tokenKindOf(order))],
  ["quota_usd_micro", ({ quotaUsdMicro }) => exact(quotaUsdMicro)],
  ["status", ({ status }) => exact(status)],
  ["payment_status", (order) => exact(paymentStatusOf(order))],
  ["paid_at", ({ paidAt }) => exact(paidAt)],
  ["credited_at", ({ creditedAt }) => exact(creditedAt)]
]

export const exportTopUps = (resellerId: ResellerId, query: DaysQuery) =>
  Effect.gen(function* () {
    const range = yield* readRange(query)
    const { search } = yield* TopUpOrders
    return yield* csvOf({
      columns: topUpColumns,
      read: (limit, olderThan) =>
        Effect.map(search({ resellerId, status: undefined, range, olderThan, limit }), (found) =>
          found.map(({ order }) => order)
        )
    })
  })

const movementColumns: ReadonlyArray<Column<QuotaMovement>> = [
  ["at", ({ at }) => exact(at)],
  ["kind", ({ kind }) => exact(kind)],
  ["change_usd_micro", ({ changeUsdMicro }) => exact(changeUsdMicro)],
  ["reference", ({ reference }) => text(reference)]
]

export const exportQuotaMovements = (resellerId: ResellerId, query: DaysQuery) =>
  Effect.gen(function* () {
    const range = yield* readRange(query)
    const { list } = yield* QuotaMovements
    return yield* csvOf({
      columns: movementColumns,
      read: (limit, after) => list(resellerId, { limit, after: after?.position, range })
    })
  })
