/**
 * Whom this installation lets resellers link.
 */
import type { LinkPolicy } from "@tollgate/domain/customer/Customer"
import * as Context from "effect/Context"

export class CustomerPolicy extends Context.Tag("@tollgate/application/CustomerPolicy")<
  CustomerPolicy,
  { readonly link: LinkPolicy }
>() {}
