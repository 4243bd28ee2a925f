/**
 * An operator moves a reseller to another status, with a reason in the audit log (gap B8).
 */
import type { Operator } from "@tollgate/domain/operations/Operation"
import type { ReviewMove } from "@tollgate/domain/reseller/Review"
import * as Effect from "effect/Effect"
import { Resellers } from "./Resellers.ts"

export const reviewReseller = (idOrEmail: string, move: ReviewMove, operator: Operator) =>
  Effect.gen(function* () {
    const resellers = yield* Resellers
    const { id } = yield* resellers.named(idOrEmail)
    return yield* resellers.review(id, move, operator)
  })
