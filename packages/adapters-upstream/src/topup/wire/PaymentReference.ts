/**
 * Defines the form of the reference with which a payment provider names a payment. The gateway stores the reference of
 * each payment that it opens.
 */
import * as Schema from "effect/Schema"

/** Visible ASCII characters except the comma, because an order stores several references separated by commas. */
export const PaymentReference = Schema.String.pipe(Schema.pattern(/^[!-+\--~]{1,200}$/))
