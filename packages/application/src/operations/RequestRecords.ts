/** Declares the queries with which an operator examines single requests and the spend of all customers. */
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import type { RequestNotFound, RequestRecord } from "@tollgate/domain/inference/RequestRecord"
import type { SpendDimension, SpendSums } from "@tollgate/domain/operations/SpendReport"
import { type DaysQuery, readDayRange } from "@tollgate/domain/validation/Days"
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"

export class RequestRecords extends Context.Tag("@tollgate/application/RequestRecords")<
  RequestRecords,
  { readonly find: (id: RequestId) => Effect.Effect<RequestRecord, RequestNotFound> }
>() {}

export class SpendReports extends Context.Tag("@tollgate/application/SpendReports")<
  SpendReports,
  {
    /**
     * Returns the sums of the settlements in a range, ordered by the dimensions. A customer of several resellers counts
     * for the reseller that it was linked to first, so that no settlement counts twice.
     */
    readonly read: (
      by: ReadonlyArray<SpendDimension>,
      range: { readonly from: Date; readonly before: Date }
    ) => Effect.Effect<ReadonlyArray<SpendSums>>
  }
>() {}

/** Returns the report of a range of days, and the range. */
export const readSpend = (by: ReadonlyArray<SpendDimension>, query: DaysQuery) =>
  Effect.gen(function* () {
    const now = new Date(yield* Clock.currentTimeMillis)
    const days = Either.mapLeft(readDayRange(query, now), (details) => new ValidationFailed({ details: [...details] }))
    const { firstDay, lastDay, range } = yield* days
    return { firstDay, lastDay, rows: yield* (yield* SpendReports).read(by, range) }
  })
