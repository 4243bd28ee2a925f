/**
 * Links users to resellers. A user who is linked to a reseller is a customer of this reseller
 * (docs/reference/reseller.md#cust-2, docs/reference/reseller.md#e4).
 */
import type { Customer, LinkPolicy } from "@tollgate/domain/customer/Customer"
import type { UserNotFound } from "@tollgate/domain/customer/User"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { ResellerId, ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

export interface ResolvedCustomer extends Customer {
  /** True if this call created the user. */
  readonly created: boolean
}

export class Customers extends Context.Tag("@tollgate/application/Customers")<
  Customers,
  {
    /** Returns the customers of a reseller, ordered by email. */
    readonly list: (resellerId: ResellerId) => Effect.Effect<ReadonlyArray<Customer>>
    /**
     * Finds or creates the user with this email, and links the user if `decideLink` allows it, in one transaction. If
     * several calls for a new email run concurrently, only one call creates the user. With the policy `closed`, only
     * the reseller of that call is linked.
     */
    readonly resolve: (resellerId: ResellerId, email: Email, policy: LinkPolicy) => Effect.Effect<ResolvedCustomer>
    /**
     * Links a user to a reseller and writes an audit log entry. If the link exists, writes neither link nor entry.
     */
    readonly link: (
      resellerId: ResellerId,
      email: Email,
      operator: Operator
    ) => Effect.Effect<Customer, ResellerNotFound | UserNotFound>
  }
>() {}

/** The setting of this deployment that decides which users a reseller may link. */
export class CustomerPolicy extends Context.Tag("@tollgate/application/CustomerPolicy")<
  CustomerPolicy,
  { readonly link: LinkPolicy }
>() {}

/** Returns the user with this email. Creates a missing user, and links the user if the link policy allows it. */
export const resolveCustomer = (resellerId: ResellerId, email: Email) =>
  Effect.gen(function* () {
    const { link } = yield* CustomerPolicy
    return yield* (yield* Customers).resolve(resellerId, email, link)
  })
