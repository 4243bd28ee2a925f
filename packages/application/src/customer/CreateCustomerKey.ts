/**
 * A reseller gives a customer an API key; its secret is told this once (spec: Customer API key).
 */
import { UserId } from "@tollgate/domain/customer/User"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CustomerKeys } from "./CustomerKeys.ts"

const readId = Schema.decodeOption(UserId)

export const createCustomerKey = (resellerId: ResellerId, userId: string, name: string) =>
  Effect.gen(function* () {
    const id = readId(userId)
    if (Option.isNone(id)) return yield* new NotFound({ what: "customer" })
    return yield* (yield* CustomerKeys).create(resellerId, id.value, name)
  })
