/**
 * What the owner of a key has left; the key may be revoked (spec: GET /api/reseller/keys/{keyID}/balances).
 */
import { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import { invalid } from "@tollgate/domain/validation/Validation"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Balances } from "./Balances.ts"

const readId = Schema.decodeOption(ApiKeyId)

export const keyBalances = (resellerId: ResellerId, keyId: string) =>
  Effect.gen(function* () {
    const id = readId(keyId.toLowerCase())
    if (Option.isNone(id)) return yield* invalid("keyID", "a UUID")
    const statement = yield* (yield* Balances).ofKeyOwner(resellerId, id.value)
    return { keyId: id.value, ...statement }
  })
