/**
 * How a request for a top-up can be refused.
 */
import * as Schema from "effect/Schema"

/** The amount is a whole number, but not one that can be topped up. Of a provider's own limit the bounds are unknown. */
export class AmountOutOfRange extends Schema.TaggedError<AmountOutOfRange>()("AmountOutOfRange", {
  path: Schema.Literal("amount_idr", "amount_usd_micro"),
  bounds: Schema.NullOr(Schema.Struct({ min: Schema.BigIntFromSelf, max: Schema.BigIntFromSelf }))
}) {}

/** Nobody can take a payment of this method now. */
export class PaymentProviderUnavailable extends Schema.TaggedError<PaymentProviderUnavailable>()(
  "PaymentProviderUnavailable",
  { retryAfterSeconds: Schema.Int }
) {}

/** This reseller has no such order. */
export class TopUpNotFound extends Schema.TaggedError<TopUpNotFound>()("TopUpNotFound", {}) {}
