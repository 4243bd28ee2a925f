/**
 * The customers of resellers.
 */
import type { Customer, LinkPolicy } from "@tollgate/domain/customer/Customer"
import type { UserNotFound } from "@tollgate/domain/customer/User"
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { ResellerId, ResellerNotFound } from "@tollgate/domain/reseller/Reseller"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export interface ResolvedCustomer extends Customer {
  /** The user was made by this call. */
  readonly created: boolean
}

export class Customers extends Context.Tag("@tollgate/application/Customers")<
  Customers,
  {
    /** The linked users, by email. */
    readonly list: (resellerId: ResellerId) => Effect.Effect<ReadonlyArray<Customer>>
    /**
     * One transaction: finds the user of this email, applies `decideLink`, and creates and links as it says. Of several
     * at once for a new email exactly one creates, and with policy `closed` only that one's reseller is linked.
     */
    readonly resolve: (resellerId: ResellerId, email: Email, policy: LinkPolicy) => Effect.Effect<ResolvedCustomer>
    /** Links by hand, with an entry in the audit log; linked already: the customer as it is, and no entry. */
    readonly link: (
      resellerId: ResellerId,
      email: Email,
      operator: Operator
    ) => Effect.Effect<Customer, ResellerNotFound | UserNotFound>
  }
>() {}
