/**
 * Declares the fields that the request bodies of several operator routes share, and the pay-as-you-go balance in their
 * responses.
 */
import { floorToUsd, floorToUsdMicro, type UsdPico } from "@tollgate/domain/money/UsdPico"
import * as Schema from "effect/Schema"
import { digits, text } from "../openapi/Fields.ts"

const REASON = "customer called on 20 November"

export const requiredReason = text(
  "The reason for the change, for the audit log: one line of 1 to 500 characters.",
  REASON
)

export const optionalReason = Schema.optional(
  text("The reason for the change, for the audit log: one line of 1 to 500 characters.", REASON)
)

export const operationIdField = text(
  "Your id for this change, 1 to 128 characters. A repeated request with the same id changes no balance.",
  "refund of order 7"
)

export const amountField = digits("The amount in micro-USD; 1 USD is 1000000 micro-USD.", "5000000")

export const PaygBody = Schema.Struct({
  currency: Schema.Literal("USD"),
  balance: text("The balance in USD with six decimals, rounded down.", "12.345678"),
  balance_usd_micro: digits("The balance in micro-USD, rounded down.", "12345678")
}).annotations({ identifier: "OperatorPaygBalance", description: "The customer's pay-as-you-go balance." })

export const toPayg = (balance: UsdPico): typeof PaygBody.Type => ({
  currency: "USD",
  balance: floorToUsd(balance),
  balance_usd_micro: floorToUsdMicro(balance)
})
