/**
 * The smallest and largest top-up of each method, as variables of the environment (gap D1).
 */
import { amount, withDefault } from "@tollgate/application/operations/EnvironmentSchema"
import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import { defaultBounds, type TopUpBounds } from "@tollgate/domain/topup/TopUpRequest"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

const rupiah = (method: PaymentMethod, end: "min" | "max") =>
  withDefault(
    amount("whole rupiah", 1n, 1_000_000_000_000n),
    defaultBounds[method][end],
    `${WORDS[end]} \`${method}\`, in rupiah without fee`
  )

const dollars = (method: PaymentMethod, end: "min" | "max") =>
  withDefault(
    amount("whole micro-USD", 1n, 100_000_000_000_000n),
    defaultBounds[method][end],
    `${WORDS[end]} \`${method}\`, in micro-USD`
  )

const WORDS = { min: "Smallest top-up by", max: "Largest top-up by" }

export const BoundsVariables = Schema.Struct({
  TOPUP_QRIS_MIN: rupiah("qris", "min"),
  TOPUP_QRIS_MAX: rupiah("qris", "max"),
  TOPUP_HOSTED_QRIS_MIN: rupiah("hosted_qris", "min"),
  TOPUP_HOSTED_QRIS_MAX: rupiah("hosted_qris", "max"),
  TOPUP_CRYPTO_MIN: dollars("crypto", "min"),
  TOPUP_CRYPTO_MAX: dollars("crypto", "max"),
  TOPUP_CRYPTO_BEP20_MIN: dollars("crypto_bep20", "min"),
  TOPUP_CRYPTO_BEP20_MAX: dollars("crypto_bep20", "max")
})
type BoundsValues = typeof BoundsVariables.Type

export const readBounds = (values: BoundsValues): Either.Either<TopUpBounds, ReadonlyArray<string>> => {
  const reasons = (["QRIS", "HOSTED_QRIS", "CRYPTO", "CRYPTO_BEP20"] as const)
    .filter((method) => values[`TOPUP_${method}_MIN`] > values[`TOPUP_${method}_MAX`])
    .map((method) => `TOPUP_${method}_MIN: is above TOPUP_${method}_MAX`)
  if (reasons.length > 0) return Either.left(reasons)
  return Either.right({
    qris: { min: values.TOPUP_QRIS_MIN, max: values.TOPUP_QRIS_MAX },
    hosted_qris: { min: values.TOPUP_HOSTED_QRIS_MIN, max: values.TOPUP_HOSTED_QRIS_MAX },
    crypto: { min: values.TOPUP_CRYPTO_MIN, max: values.TOPUP_CRYPTO_MAX },
    crypto_bep20: { min: values.TOPUP_CRYPTO_BEP20_MIN, max: values.TOPUP_CRYPTO_BEP20_MAX }
  })
}
