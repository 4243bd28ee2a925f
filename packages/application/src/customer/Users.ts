/**
 * Declares the store of users.
 */
import type { CustomerBalances } from "@tollgate/domain/customer/Customer"
import type { User, UserExists, UserNotFound } from "@tollgate/domain/customer/User"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class Users extends Context.Tag("@tollgate/application/Users")<
  Users,
  {
    readonly create: (email: Email, operator: Operator) => Effect.Effect<User, UserExists>
    readonly find: (email: Email) => Effect.Effect<User, UserNotFound>
    /** Returns the remaining pay-as-you-go balance, and the plans by public model name. */
    readonly balances: (user: User) => Effect.Effect<CustomerBalances>
  }
>() {}
