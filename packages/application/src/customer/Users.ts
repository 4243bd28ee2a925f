/**
 * Declares the store of users.
 */
import type { CustomerBalances } from "@tollgate/domain/customer/Customer"
import type { User, UserExists, UserId, UserNotFound } from "@tollgate/domain/customer/User"
import type { UsdPico } from "@tollgate/domain/money/UsdPico"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** Selects users. An undefined member excludes no user. */
export interface UserSelection {
  readonly status: User["status"] | undefined
  /** A part of the email address. */
  readonly search: string | undefined
  readonly limit: number
  /** The last user of the previous page. Only older users are returned. */
  readonly olderThan?: UserId | undefined
}

export interface ListedUser extends User {
  readonly paygPico: UsdPico
  /** The number of keys that are not revoked. */
  readonly activeKeys: number
  /** The email addresses of the resellers that the user is linked to. */
  readonly resellers: ReadonlyArray<string>
}

export class Users extends Context.Tag("@tollgate/application/Users")<
  Users,
  {
    readonly create: (email: Email, operator: Operator) => Effect.Effect<User, UserExists>
    readonly find: (email: Email) => Effect.Effect<User, UserNotFound>
    /** Finds a user by the id or email that an operator entered. */
    readonly named: (idOrEmail: string) => Effect.Effect<User, UserNotFound>
    /** Returns at most `limit` users, newest first. */
    readonly list: (selection: UserSelection) => Effect.Effect<ReadonlyArray<ListedUser>>
    /** Returns the remaining pay-as-you-go balance, and the plans by public model name. */
    readonly balances: (user: User) => Effect.Effect<CustomerBalances>
  }
>() {}
