import { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import {
  amountPathOf,
  decideRepeatedTopUp,
  decideTerms,
  defaultBounds,
  type TopUpBounds,
  TopUpRequest
} from "@tollgate/domain/topup/TopUpRequest"
import { read } from "@tollgate/domain/validation/Validation"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const order = (body: unknown, bounds: TopUpBounds = defaultBounds) =>
  Either.flatMap(read(TopUpRequest)(body), (request) => decideTerms(request, bounds))

const refusalOf = (body: unknown) =>
  Either.match(order(body), {
    onLeft: (refusal) => (refusal._tag === "ValidationFailed" ? refusal.details.map(({ path }) => path) : refusal._tag),
    onRight: () => "accepted"
  })

const method = FastCheck.constantFrom(...PaymentMethod.literals)
const amount = FastCheck.maxSafeNat().map((n) => (n === 0 ? 1 : n))
const open: TopUpBounds = {
  qris: { min: 0n, max: 10n ** 20n },
  hosted_qris: { min: 0n, max: 10n ** 20n },
  crypto: { min: 0n, max: 10n ** 20n },
  crypto_bep20: { min: 0n, max: 10n ** 20n }
}

describe("the terms of a top-up", () => {
  it("for qris have a fee of 5 % in addition to the amount", () => {
    expect(Either.getOrThrow(order({ method: "qris", amount_idr: 100_000 }))).toEqual({
      method: "qris",
      amount: { _tag: "Rupiah", amountIdr: 100_000n, feeIdr: 5_000n, totalIdr: 105_000n },
      quotaUsdMicro: 10_000_000n
    })
  })

  it("for hosted_qris have no fee", () => {
    expect(Either.getOrThrow(order({ method: "hosted_qris", amount_idr: 50_000 })).amount).toEqual({
      _tag: "Rupiah",
      amountIdr: 50_000n,
      feeIdr: 0n,
      totalIdr: 50_000n
    })
  })

  property("contain a quota of the amount without the fee", [method, amount], (method, amount) => {
    const terms = Either.getOrThrow(order({ method, [amountPathOf(method)]: amount }, open))
    if (terms.amount._tag === "Dollars") return terms.quotaUsdMicro === BigInt(amount)
    const { amountIdr, feeIdr, totalIdr } = terms.amount
    const fee = method === "qris" ? (BigInt(amount) * 5n + 99n) / 100n : 0n
    return (
      amountIdr === BigInt(amount) &&
      feeIdr === fee &&
      totalIdr === amountIdr + feeIdr &&
      terms.quotaUsdMicro === BigInt(amount) * 100n
    )
  })

  property("are accepted only for an amount within the bounds", [method, amount], (method, amount) => {
    const bounds = { ...open, [method]: { min: 1_000n, max: 2_000_000n } }
    const decided = order({ method, [amountPathOf(method)]: amount % 3_000_000 }, bounds)
    const within = amount % 3_000_000 >= 1_000 && amount % 3_000_000 <= 2_000_000
    return (
      Either.isRight(decided) === within &&
      (within || decided._tag === "Right" || decided.left._tag === "AmountOutOfRange")
    )
  })

  it.each([
    ["qris", "amount_idr", 10_000, 9_500_000],
    ["hosted_qris", "amount_idr", 10_000, 5_000_000],
    ["crypto", "amount_usd_micro", 5_000_000, 50_000_000_000],
    ["crypto_bep20", "amount_usd_micro", 1_000_000, 50_000_000_000]
  ])("for %s accept %s from %d to %d by default", (method, path, min, max) => {
    expect(refusalOf({ method, [path]: min - 1 })).toBe("AmountOutOfRange")
    expect(refusalOf({ method, [path]: min })).toBe("accepted")
    expect(refusalOf({ method, [path]: max })).toBe("accepted")
    expect(refusalOf({ method, [path]: max + 1 })).toBe("AmountOutOfRange")
    expect(refusalOf({ method, [path]: -1 })).toBe("AmountOutOfRange")
    expect(refusalOf({ method, [path]: 1e300 })).toBe("AmountOutOfRange")
  })

  it("are refused for an amount of zero or below", () => {
    for (const amount_idr of [0, -1]) {
      const decided = order({ method: "qris", amount_idr }, { ...open, qris: { min: -5n, max: 5n } })
      expect(Either.isLeft(decided)).toBe(true)
    }
  })

  it("are refused with the bounds for an amount outside them", () => {
    const refused = Either.flip(order({ method: "qris", amount_idr: 1 }))
    expect(Either.getOrThrow(refused)).toMatchObject({ path: "amount_idr", bounds: { min: 10_000n, max: 9_500_000n } })
  })
})

describe("a top-up request", () => {
  it.each([
    ["without a method", { amount_idr: 10_000 }, ["method"]],
    ["with an unknown method", { method: "cash", amount_idr: 10_000 }, ["method"]],
    ["without an amount", { method: "qris" }, ["amount_idr"]],
    ["with null as the amount", { method: "crypto", amount_usd_micro: null }, ["amount_usd_micro"]],
    ["with only the amount member of other methods", { method: "qris", amount_usd_micro: 10_000_000 }, ["amount_idr"]],
    ["with a text as the amount", { method: "qris", amount_idr: "10000" }, ["amount_idr"]],
    ["with a fractional amount", { method: "qris", amount_idr: 10_000.5 }, ["amount_idr"]],
    ["with an infinite amount", { method: "qris", amount_idr: Number.POSITIVE_INFINITY }, ["amount_idr"]],
    ["that is not an object", [], [""]]
  ])("%s is refused", (_, body, paths) => {
    expect(refusalOf(body)).toEqual(paths)
  })

  property("is refused if it has both amounts", [method], (method) => {
    const other = amountPathOf(method) === "amount_idr" ? "amount_usd_micro" : "amount_idr"
    const refusal = refusalOf({ method, amount_idr: 10_000_000, amount_usd_micro: 10_000_000 })
    return Array.isArray(refusal) && refusal.join() === other
  })

  it("accepts null for the amount member of other methods", () => {
    expect(refusalOf({ method: "qris", amount_idr: 10_000, amount_usd_micro: null })).toBe("accepted")
  })

  it("has the token kind usdt by default for crypto_bep20", () => {
    const kindOf = (token_kind: unknown) =>
      Either.map(order({ method: "crypto_bep20", amount_usd_micro: 5_000_000, token_kind }), ({ amount }) =>
        amount._tag === "Dollars" ? amount.tokenKind : undefined
      )
    expect(kindOf(undefined)).toEqual(Either.right("usdt"))
    expect(kindOf(null)).toEqual(Either.right("usdt"))
    expect(kindOf("usdc")).toEqual(Either.right("usdc"))
    expect(Either.isLeft(kindOf("USDC"))).toBe(true)
    expect(Either.isLeft(kindOf("dai"))).toBe(true)
    expect(Either.isLeft(kindOf(7))).toBe(true)
  })

  it.each(["qris", "hosted_qris", "crypto"] as const)("ignores the token kind for %s", (method) => {
    for (const token_kind of ["usdc", "dai", 7, {}]) {
      expect(refusalOf({ method, [amountPathOf(method)]: 5_000_000, token_kind })).toBe("accepted")
    }
  })
})

describe("a repeated operation id", () => {
  const termsOf = (body: object) => Either.getOrThrow(order(body))
  const repeats = (body: object, earlier: object): boolean =>
    Either.isRight(
      Either.flatMap(read(TopUpRequest)(body), (request) => decideRepeatedTopUp(request, termsOf(earlier)))
    )

  it.each(["qris", "hosted_qris", "crypto", "crypto_bep20"] as const)(
    "returns the order of an equal request by %s",
    (method) => {
      const body = { method, [amountPathOf(method)]: 5_000_000 }
      expect(repeats(body, body)).toBe(true)
      expect(repeats({ ...body, [amountPathOf(method)]: 5_000_001 }, body)).toBe(false)
      const other = amountPathOf(method) === "amount_idr" ? "amount_usd_micro" : "amount_idr"
      expect(repeats({ ...body, [other]: 5_000_000 }, body)).toBe(false)
      expect(repeats({ method }, body)).toBe(false)
    }
  )

  it("returns no order of another method or token", () => {
    const rupiah = { method: "qris", amount_idr: 5_000_000 }
    expect(repeats({ ...rupiah, method: "hosted_qris" }, rupiah)).toBe(false)
    const bep20 = { method: "crypto_bep20", amount_usd_micro: 5_000_000 }
    expect(repeats({ ...bep20, token_kind: "usdt" }, bep20)).toBe(true)
    expect(repeats({ ...bep20, token_kind: "usdc" }, bep20)).toBe(false)
    expect(repeats({ ...bep20, method: "crypto" }, bep20)).toBe(false)
    expect(repeats({ ...bep20, method: "crypto", token_kind: 7 }, { ...bep20, method: "crypto" })).toBe(true)
  })
})
