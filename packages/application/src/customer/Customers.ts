/**
 * The customers of resellers: the stored links, and the use case that links a user (docs/reference/reseller.md#cust-2,
 * docs/reference/reseller.md#e4).
 */
import type { Customer, LinkPolicy } from "@tollgate/domain/customer/Customer"
import type { UserNotFound } from "@tollgate/domain/customer/User"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { ResellerId, ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

export interface ResolvedCustomer extends Customer {
  /** This call created the user. */
  readonly created: boolean
}

export class Customers extends Context.Tag("@tollgate/application/Customers")<
  Customers,
  {
    /** The linked users, by email. */
    readonly list: (resellerId: ResellerId) => Effect.Effect<ReadonlyArray<Customer>>
    /**
     * One transaction: finds the user of this email, applies `decideLink`, and creates and links as decided. Of several
     * concurrent calls for a new email exactly one creates the user, and with policy `closed` only the reseller of that
     * call is linked.
     */
    readonly resolve: (resellerId: ResellerId, email: Email, policy: LinkPolicy) => Effect.Effect<ResolvedCustomer>
    /** Links for an operator, with an audit log entry. A linked customer is returned as it is, without an entry. */
    readonly link: (
      resellerId: ResellerId,
      email: Email,
      operator: Operator
    ) => Effect.Effect<Customer, ResellerNotFound | UserNotFound>
  }
>() {}

/** Which users this installation lets a reseller link. */
export class CustomerPolicy extends Context.Tag("@tollgate/application/CustomerPolicy")<
  CustomerPolicy,
  { readonly link: LinkPolicy }
>() {}

/** The user of an email, created and linked if necessary. */
export const resolveCustomer = (resellerId: ResellerId, email: Email) =>
  Effect.gen(function* () {
    const { link } = yield* CustomerPolicy
    return yield* (yield* Customers).resolve(resellerId, email, link)
  })
