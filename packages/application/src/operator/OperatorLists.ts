/**
 * Reads the lists of the operator API page by page (docs/reference/operator.md).
 */
import { UserId } from "@tollgate/domain/customer/User"
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
import * as Option from "effect/Option"
import { KeyLists, listKeys, readKeyPage } from "../customer/KeyLists.ts"
import { Users } from "../customer/Users.ts"
import { ImageReviews } from "../images/ImageReviews.ts"
import { OpenHolds } from "../ledger/OpenHolds.ts"
import { CursorSealer, listPage } from "../operations/CursorSealer.ts"
import { NodeList } from "../operations/Nodes.ts"
import { Blacklist } from "../reseller/Blacklist.ts"
import { QuotaMovements } from "../reseller/QuotaMovements.ts"
import { Resellers } from "../reseller/Resellers.ts"
import { TopUpOrders } from "../topup/TopUpOrders.ts"
import { AuditLogEntries } from "./AuditLogEntries.ts"

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
  readonly search?: string | undefined
}

const MAX_SEARCH_LENGTH = 254

/** Reads the text to search for. Undefined if the query does not contain the parameter. */
const readSearch = (given: string | undefined): Either.Either<string | undefined, ValidationFailed> => {
  const search = given?.trim()
  return search === undefined || (search !== "" && search.length <= MAX_SEARCH_LENGTH && !search.includes("\0"))
    ? Either.right(search)
    : Either.left(invalid("search", `1 to ${MAX_SEARCH_LENGTH} characters`))
}

/** Returns a page of the resellers, newest first. */
export const listResellers = (query: ResellersQuery) =>
  Effect.gen(function* () {
    const status = yield* readWord("status", ResellerStatus.literals, query.status)
    const search = yield* readSearch(query.search)
    const resellers = yield* Resellers
    return yield* listPage("r1", yield* readPage("r1", query), (page) => resellers.page({ status, search }, page))
  })

/** Returns a page of the movements of a reseller's quota, newest first. */
export const listQuotaMovements = (idOrEmail: string, query: CursorQuery) =>
  Effect.gen(function* () {
    const movements = yield* QuotaMovements
    const { id } = yield* (yield* Resellers).named(idOrEmail)
    const page = yield* readPage("q1", query)
    return yield* listPage("q1", page, (wanted) =>
      movements.list(id, { ...wanted, range: { from: undefined, before: undefined } })
    )
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

export interface UsersQuery extends CursorQuery {
  readonly search?: string | undefined
  readonly status?: string | undefined
}

/** Returns a page of the users, newest first. */
export const listUsers = (query: UsersQuery) =>
  Effect.gen(function* () {
    const status = yield* readWord("status", ["active", "blocked"], query.status)
    const search = yield* readSearch(query.search)
    const users = yield* Users
    return yield* listPage("c1", yield* readPage("c1", query), ({ after, limit }) => {
      const olderThan = after === undefined ? undefined : UserId.make(after.id)
      return Effect.map(users.list({ status, search, limit, olderThan }), (found) =>
        found.map((user) => ({ ...user, position: positionAt(user.createdAt, user.id) }))
      )
    })
  })

/** Returns a page of the API keys of a user, newest first. */
export const listKeysOfUser = (idOrEmail: string, query: CursorQuery) =>
  Effect.gen(function* () {
    const keys = yield* KeyLists
    const { id } = yield* (yield* Users).named(idOrEmail)
    return yield* listPage("k1", yield* readKeyPage(query), (page) => keys.ofUser(id, page))
  })

/** Returns a page of the API keys of a reseller's customers, newest first. */
export const listKeysOfReseller = (idOrEmail: string, query: CursorQuery) =>
  Effect.flatMap(Resellers, (resellers) => Effect.flatMap(resellers.named(idOrEmail), ({ id }) => listKeys(id, query)))

/** Returns a page of the open holds, oldest first. */
export const listHolds = (query: CursorQuery) =>
  Effect.gen(function* () {
    const holds = yield* OpenHolds
    return yield* listPage("h1", yield* readPage("h1", query), (page) => holds.page(page))
  })

/** Returns a page of the nodes, most recently started first. */
export const listNodes = (query: CursorQuery) =>
  Effect.gen(function* () {
    const nodes = yield* NodeList
    return yield* listPage("n1", yield* readPage("n1", query), (page) => nodes.page(page))
  })

/**
 * Returns a page of a list in which one text gives the position of an item. The cursor contains the text of the last
 * item of the page. `read` returns at most `limit` items after a text.
 */
const listByText = <Item>(
  list: "b1" | "l1",
  query: CursorQuery,
  textOf: (item: Item) => string,
  read: (limit: number, after: string | undefined) => Effect.Effect<ReadonlyArray<Item>>
) =>
  Effect.gen(function* () {
    const sealer = yield* CursorSealer
    const name = `${list} `
    // The name of the list has no effect, because `readPage` gets no cursor.
    const { limit } = yield* readPage("c1", { limit: query.limit })
    const after =
      query.cursor === undefined
        ? undefined
        : yield* Option.filter(sealer.open(query.cursor), (text) => text.startsWith(name)).pipe(
            Effect.mapError(() => invalid("cursor", "the `next_cursor` of an earlier response"))
          )
    const found = yield* read(limit + 1, after?.slice(name.length))
    const items = found.slice(0, limit)
    const last = items.at(-1)
    const nextCursor = found.length > limit && last !== undefined ? sealer.seal(name + textOf(last)) : null
    return { items, nextCursor }
  })

/** Returns a page of the blacklist, ordered by pattern. */
export const listBlacklist = (query: CursorQuery) =>
  Effect.flatMap(Blacklist, ({ page }) => listByText("b1", query, ({ pattern }) => pattern, page))

/** Returns a page of the audit log, newest first. */
export const listAuditLog = (query: CursorQuery) =>
  Effect.flatMap(AuditLogEntries, ({ page }) => listByText("l1", query, ({ sequence }) => sequence, page))
