/**
 * An idempotency key identifies one image request of a customer, so that a repeated request cannot be charged again
 * (docs/reference/images.md#g3).
 *
 * An idempotency key has 1 to 255 visible ASCII characters. Of the requests of a customer with the same idempotency
 * key, at most one in 90 days is sent to providers, even if the requests have different API keys. The digest of an
 * idempotency key is deleted after 90 days, or at the end of a request that was not sent to a provider.
 */
import type * as Brand from "effect/Brand"
import * as Either from "effect/Either"
import { InvalidRequest } from "../inference/InferenceErrors.ts"

export type IdempotencyKey = string & Brand.Brand<"IdempotencyKey">

export const IDEMPOTENCY_KEY_HEADER = "Idempotency-Key"

const FORM = /^[\x21-\x7e]{1,255}$/

/** Reads the header. Returns undefined if the client did not send the header. */
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
