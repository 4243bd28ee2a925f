/**
 * A customer's name for one image request, so that sending it again cannot be charged again
 * (docs/reference/images.md#g3).
 *
 * 1 to 255 visible ASCII characters. Belongs to the customer, whichever of its API keys is used.
 */
import type * as Brand from "effect/Brand"
import * as Either from "effect/Either"
import { InvalidRequest } from "../inference/InferenceErrors.ts"

export type IdempotencyKey = string & Brand.Brand<"IdempotencyKey">

export const IDEMPOTENCY_KEY_HEADER = "Idempotency-Key"

const FORM = /^[\x21-\x7e]{1,255}$/

/** What the header says; nothing where it was not sent. */
export const idempotencyKey = (
  header: string | undefined
): Either.Either<IdempotencyKey | undefined, InvalidRequest> => {
  if (header === undefined) return Either.right(undefined)
  if (FORM.test(header)) return Either.right(header as IdempotencyKey)
  return Either.left(
    new InvalidRequest({
      message: `${IDEMPOTENCY_KEY_HEADER} must be 1 to 255 visible ASCII characters`,
      param: IDEMPOTENCY_KEY_HEADER
    })
  )
}
