/**
 * Defines a reseller's request for quota, and computes the terms of its order (docs/reference/reseller.md#top-1,
 * docs/reference/reseller.md#d1, docs/reference/reseller.md#d2, docs/reference/reseller.md#d13).
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { ceilQrisFee, Idr, toQuotaUsdMicro } from "../money/Idr.ts"
import { UsdMicro } from "../money/UsdMicro.ts"
import { IdempotencyConflict, OperationId } from "../operations/Operation.ts"
import { invalid, type ValidationFailed } from "../validation/Validation.ts"
import { PaymentMethod, TokenKind } from "./PaymentMethod.ts"
import type { TopUpTerms } from "./TopUpOrder.ts"

const Whole = Schema.Number.pipe(
  Schema.filter((n) => Number.isInteger(n) || "a whole number", { jsonSchema: { type: "integer" } })
)
const Amount = Schema.optional(Schema.NullOr(Whole))

export const TopUpRequest = Schema.Struct({
  method: PaymentMethod,
  amount_idr: Amount,
  amount_usd_micro: Amount,
  /** The token of a payment by `crypto_bep20`. It is ignored for all other methods. */
  token_kind: Schema.optional(Schema.Unknown.annotations({ jsonSchema: { type: "string", enum: ["usdt", "usdc"] } })),
  operation_id: Schema.optional(Schema.NullOr(OperationId))
})
export type TopUpRequest = typeof TopUpRequest.Type

/** The smallest and the largest accepted amount without the fee, in the unit of the method: IDR or micro-USD. */
export interface Bounds {
  readonly min: bigint
  readonly max: bigint
}
export type TopUpBounds = Readonly<Record<PaymentMethod, Bounds>>

/** The default bounds: in IDR for the QRIS methods, in micro-USD for the crypto methods. */
export const defaultBounds: TopUpBounds = {
  qris: { min: 10_000n, max: 9_500_000n },
  hosted_qris: { min: 10_000n, max: 5_000_000n },
  crypto: { min: 5_000_000n, max: 50_000_000_000n },
  crypto_bep20: { min: 1_000_000n, max: 50_000_000_000n }
}

/**
 * The amount is outside the bounds. `bounds` is null if the provider refused the amount: the provider's bounds are
 * unknown.
 */
export class AmountOutOfRange extends Schema.TaggedError<AmountOutOfRange>()("AmountOutOfRange", {
  path: Schema.Literal("amount_idr", "amount_usd_micro"),
  bounds: Schema.NullOr(Schema.Struct({ min: Schema.BigIntFromSelf, max: Schema.BigIntFromSelf }))
}) {}

export type AmountPath = AmountOutOfRange["path"]

/** Returns the name of the request member that contains the amount for a method. */
export const amountPathOf = (method: PaymentMethod): AmountPath =>
  method === "qris" || method === "hosted_qris" ? "amount_idr" : "amount_usd_micro"

export const decideTerms = (
  request: TopUpRequest,
  bounds: TopUpBounds
): Either.Either<TopUpTerms, ValidationFailed | AmountOutOfRange> => {
  const { method } = request
  const path = amountPathOf(method)
  const other = path === "amount_idr" ? "amount_usd_micro" : "amount_idr"
  const given = request[path] ?? undefined
  if (given === undefined) return Either.left(invalid(path, `is required for ${method}`))
  if ((request[other] ?? undefined) !== undefined) return Either.left(invalid(other, `is not allowed with ${method}`))
  const tokenKind =
    method === "crypto_bep20" ? readTokenKind(request.token_kind ?? "usdt") : Either.right("usdt" as const)
  if (Either.isLeft(tokenKind)) return Either.left(tokenKind.left)

  const amount = BigInt(given)
  const { min, max } = bounds[method]
  if (amount < min || amount > max || amount <= 0n)
    return Either.left(new AmountOutOfRange({ path, bounds: { min, max } }))
  return Either.right(
    path === "amount_idr" ? inRupiah(method, Idr(amount)) : inDollars(method, UsdMicro(amount), tokenKind.right)
  )
}

const isTokenKind = Schema.is(TokenKind)
const readTokenKind = (given: unknown): Either.Either<TokenKind, ValidationFailed> =>
  isTokenKind(given) ? Either.right(given) : Either.left(invalid("token_kind", "usdt or usdc"))

const inRupiah = (method: PaymentMethod, amountIdr: Idr): TopUpTerms => {
  const feeIdr = method === "qris" ? ceilQrisFee(amountIdr) : Idr(0n)
  return {
    method,
    amount: { _tag: "Rupiah", amountIdr, feeIdr, totalIdr: Idr(amountIdr + feeIdr) },
    quotaUsdMicro: toQuotaUsdMicro(amountIdr)
  }
}

const inDollars = (method: PaymentMethod, quotaUsdMicro: UsdMicro, tokenKind: TokenKind): TopUpTerms => ({
  method,
  amount: { _tag: "Dollars", tokenKind },
  quotaUsdMicro
})

/**
 * Decides a request with the operation id of an earlier order. The order is the result of both requests if they have
 * the same method, amount and token.
 */
export const decideRepeatedTopUp = (
  request: TopUpRequest,
  earlier: TopUpTerms
): Either.Either<void, IdempotencyConflict> =>
  isRequestFor(request, earlier) ? Either.void : Either.left(new IdempotencyConflict())

const isRequestFor = (request: TopUpRequest, { method, amount, quotaUsdMicro }: TopUpTerms): boolean => {
  const path = amountPathOf(method)
  const given = request[path] ?? undefined
  const other = request[path === "amount_idr" ? "amount_usd_micro" : "amount_idr"] ?? undefined
  if (request.method !== method || given === undefined || other !== undefined) return false
  if (amount._tag === "Rupiah") return BigInt(given) === amount.amountIdr
  const isSameToken = method !== "crypto_bep20" || (request.token_kind ?? "usdt") === amount.tokenKind
  return isSameToken && BigInt(given) === quotaUsdMicro
}
