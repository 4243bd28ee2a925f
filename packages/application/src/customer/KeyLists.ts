/**
 * Lists API keys in pages, newest first (docs/reference/reseller.md#k1), and records when keys are used.
 */
import type { ListedKey } from "@tollgate/domain/customer/ApiKey"
import { UserId } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { type CursorPage, type CursorQuery, readCursorPage } from "@tollgate/domain/validation/Cursor"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import { ValidationFailed } from "@tollgate/domain/validation/Validation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CursorSealer, listPage } from "../operations/CursorSealer.ts"

export class KeyLists extends Context.Tag("@tollgate/application/KeyLists")<
  KeyLists,
  {
    /** Returns a page of the keys of a reseller's customers, including revoked keys, newest first. */
    readonly ofReseller: (resellerId: ResellerId, page: CursorPage) => Effect.Effect<ReadonlyArray<ListedKey>>
    /** Returns a page of the keys of one user, for operators. */
    readonly ofUser: (userId: UserId, page: CursorPage) => Effect.Effect<ReadonlyArray<ListedKey>>
    /** Returns a page of the keys of one customer. Fails if the user is not this reseller's customer. */
    readonly ofCustomer: (
      resellerId: ResellerId,
      userId: UserId,
      page: CursorPage
    ) => Effect.Effect<ReadonlyArray<ListedKey>, NotFound>
  }
>() {}

/** The times at which keys were last used. */
export class KeyUses extends Context.Tag("@tollgate/application/KeyUses")<
  KeyUses,
  {
    /**
     * Stores the uses that this node has seen since the last call. A node sees a use when it looks up the key in the
     * database. It caches the result of a lookup for at most 30 seconds.
     */
    readonly record: Effect.Effect<void>
  }
>() {}

/** Reads the query of a page of keys. */
export const readKeyPage = (query: CursorQuery) =>
  Effect.flatMap(CursorSealer, ({ open }) =>
    Either.mapLeft(readCursorPage("k1", query, open), (details) => new ValidationFailed({ details }))
  )

/** Returns a page of the keys of a reseller's customers (`GET /api/reseller/keys`). */
export const listKeys = (resellerId: ResellerId, query: CursorQuery) =>
  Effect.gen(function* () {
    const keys = yield* KeyLists
    return yield* listPage("k1", yield* readKeyPage(query), (page) => keys.ofReseller(resellerId, page))
  })

const readUserId = Schema.decodeOption(UserId)

/** Returns a page of the keys of one customer (`GET /api/reseller/customers/{userID}/keys`). */
export const listCustomerKeys = (resellerId: ResellerId, userId: string, query: CursorQuery) =>
  Effect.gen(function* () {
    const keys = yield* KeyLists
    const page = yield* readKeyPage(query)
    const id = readUserId(userId)
    if (Option.isNone(id)) return yield* new NotFound({ what: "customer" })
    return yield* listPage("k1", page, (wanted) => keys.ofCustomer(resellerId, id.value, wanted))
  })
