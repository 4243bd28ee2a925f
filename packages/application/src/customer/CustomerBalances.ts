/**
 * What a customer has left (spec: GET /api/reseller/customers/{userID}/balances).
 */
import { UserId } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { invalid } from "@tollgate/domain/validation/Validation"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Balances } from "./Balances.ts"

const readId = Schema.decodeOption(UserId)

export const customerBalances = (resellerId: ResellerId, userId: string) =>
  Effect.gen(function* () {
    const id = readId(userId)
    if (Option.isNone(id)) return yield* invalid("userID", "a UUID")
    return yield* (yield* Balances).ofCustomer(resellerId, id.value)
  })
