/**
 * Reads the lists of the operator API page by page (docs/reference/operator.md).
 */
import { ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import { OrderId, TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import {
  type CursorPage,
  type CursorQuery,
  type ListName,
  positionAt,
  readCursorPage,
  timeOf
} from "@tollgate/domain/validation/Cursor"
import { invalid, ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { ImageReviews } from "../images/ImageReviews.ts"
import { CursorSealer, listPage } from "../operations/CursorSealer.ts"
import { Resellers } from "../reseller/Resellers.ts"
import { TopUpOrders } from "../topup/TopUpOrders.ts"

/** Reads the query of a page. */
export const readPage = (
  list: ListName,
  query: CursorQuery
): Effect.Effect<CursorPage, ValidationFailed, CursorSealer> =>
  Effect.flatMap(CursorSealer, ({ open }) =>
    Either.mapLeft(readCursorPage(list, query, open), (details) => new ValidationFailed({ details }))
  )

/** Reads a query parameter that has one of the given values. Undefined if the query does not contain the parameter. */
const readWord = <const Word extends string>(
  path: string,
  words: ReadonlyArray<Word>,
  given: string | undefined
): Either.Either<Word | undefined, ValidationFailed> => {
  const word = words.find((word) => word === given)
  return given === undefined || word !== undefined
    ? Either.right(word)
    : Either.left(invalid(path, `one of: ${words.join(", ")}`))
}

export interface ResellersQuery extends CursorQuery {
  readonly status?: string | undefined
}

/** Returns a page of the resellers, newest first. */
export const listResellers = (query: ResellersQuery) =>
  Effect.gen(function* () {
    const status = yield* readWord("status", ResellerStatus.literals, query.status)
    const resellers = yield* Resellers
    return yield* listPage("r1", yield* readPage("r1", query), (page) => resellers.page(status, page))
  })

export interface TopUpsQuery extends CursorQuery {
  readonly status?: string | undefined
  readonly flagged?: string | undefined
  readonly reseller?: string | undefined
}

/** Returns a page of the top-up orders, newest first. */
export const listTopUpsForOperator = (query: TopUpsQuery) =>
  Effect.gen(function* () {
    const status = yield* readWord("status", TopUpStatus.literals, query.status)
    const flagged = (yield* readWord("flagged", ["true"], query.flagged)) !== undefined
    const resellers = yield* Resellers
    const { search } = yield* TopUpOrders
    const page = yield* readPage("t1", query)
    const reseller = query.reseller === undefined ? undefined : yield* resellers.named(query.reseller)
    return yield* listPage("t1", page, ({ after, limit }) => {
      const olderThan = after === undefined ? undefined : { createdAt: timeOf(after), id: OrderId.make(after.id) }
      const found = search({ resellerId: reseller?.id, status, flagged, olderThan, limit })
      return Effect.map(found, (topUps) =>
        topUps.map((topUp) => ({ ...topUp, position: positionAt(topUp.order.createdAt, topUp.order.id) }))
      )
    })
  })

export interface ImageReviewsQuery extends CursorQuery {
  readonly state?: string | undefined
}

/** Returns a page of the image reviews, oldest first. */
export const listImageReviews = (query: ImageReviewsQuery) =>
  Effect.gen(function* () {
    const which = (yield* readWord("state", ["waiting", "all"], query.state)) ?? "waiting"
    const reviews = yield* ImageReviews
    return yield* listPage("i1", yield* readPage("i1", query), (page) => reviews.list(which, page))
  })
