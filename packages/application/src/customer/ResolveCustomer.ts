/**
 * The user of an email, made and linked where there is none yet (spec: POST /api/reseller/customers; gap E4).
 */

import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import { CustomerPolicy } from "./CustomerPolicy.ts"
import { Customers } from "./Customers.ts"

export const resolveCustomer = (resellerId: ResellerId, email: Email) =>
  Effect.gen(function* () {
    const { link } = yield* CustomerPolicy
    return yield* (yield* Customers).resolve(resellerId, email, link)
  })
