/**
 * A reseller ends a customer's API key, on every node at the next request (spec: DELETE /api/reseller/keys/{keyID}).
 */
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { NotFound } from "@tollgate/domain/validation/RequestErrors"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CustomerKeys } from "./CustomerKeys.ts"

const readId = Schema.decodeOption(ApiKeyId)

export const revokeCustomerKey = (resellerId: ResellerId, keyId: string) =>
  Effect.gen(function* () {
    const id = readId(keyId)
    if (Option.isNone(id)) return yield* new NotFound({ what: "key" })
    return yield* (yield* CustomerKeys).revoke(resellerId, id.value)
  })
