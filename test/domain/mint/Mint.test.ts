import type { UserId } from "@tollgate/domain/customer/User"
import * as Account from "@tollgate/domain/ledger/Account"
import {
  decideMint,
  decideRepeatedMint,
  fingerprintOf,
  type MintBasis,
  MintId,
  MintRequest,
  mintLimit
} from "@tollgate/domain/mint/Mint"
import { priceUsdMicroOf } from "@tollgate/domain/mint/Tier"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdCents } from "@tollgate/domain/money/UsdCents"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import type { Email } from "@tollgate/domain/validation/Email"
import { read } from "@tollgate/domain/validation/Validation"
import { Either, FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { aQuota, aReseller, aTier, instant } from "../../support/resellers.ts"

const aPlan = (purchased = 0n): Account.PlanAccount => ({
  id: Account.AccountId("plan"),
  creditsPosted: Tokens(purchased),
  debitsPosted: Tokens(0n),
  debitsPending: Tokens(0n)
})

const request: MintRequest = {
  operationId: OperationId.make("op-1"),
  customerEmail: "ada@example.com" as Email,
  planTierId: aTier().id
}
const command = { resellerId: aReseller().id, request, id: MintId("mint-1") }
const basis = (facts: Partial<MintBasis> = {}): MintBasis => ({
  customer: "ada" as UserId,
  tier: aTier(),
  quota: aQuota(5_000_000n),
  plan: aPlan(),
  recent: [],
  ...facts
})
const refusalOf = (facts: Partial<MintBasis>) =>
  Either.match(decideMint(command, basis(facts), instant(0)), { onLeft: ({ _tag }) => _tag, onRight: () => "minted" })

const anyQuota = FastCheck.tuple(
  FastCheck.bigInt({ min: 0n, max: 10n ** 13n }),
  FastCheck.bigInt({ min: 0n, max: 10n ** 13n })
).map(([spent, remaining]) => aQuota(spent + remaining, { debitsPosted: UsdMicro(spent) }))
const anyPlan = FastCheck.bigInt({ min: 0n, max: 10n ** 14n }).map(aPlan)
const someTier = FastCheck.tuple(
  FastCheck.bigInt({ min: 1n, max: 100_000_000n }),
  FastCheck.bigInt({ min: 1n, max: 10n ** 15n })
).map(([cents, tokens]) => aTier({ tierUsdCents: UsdCents(cents), grantedTokens: Tokens(tokens) }))

describe("a mint", () => {
  property(
    "debits its price from the quota and credits its tokens to the plan",
    [anyQuota, anyPlan, someTier],
    (quota, plan, tier) => {
      const minted = Either.getOrUndefined(decideMint(command, basis({ quota, plan, tier }), instant(0)))
      if (minted === undefined) return Account.available(quota) < priceUsdMicroOf(tier)
      const [pay, grant] = minted.bookings
      return (
        Account.remaining(quota) - Account.remaining(minted.quota) === priceUsdMicroOf(tier) &&
        minted.plan.creditsPosted - plan.creditsPosted === tier.grantedTokens &&
        pay.amount === priceUsdMicroOf(tier) &&
        pay.debit === quota.id &&
        grant.amount === tier.grantedTokens &&
        grant.credit === plan.id &&
        minted.mint.priceUsdMicro === pay.amount &&
        minted.mint.grantedTokens === grant.amount &&
        minted.mint.balanceAfter === Account.remaining(minted.quota)
      )
    }
  )

  property("is refused exactly if the quota does not cover the price", [anyQuota, someTier], (quota, tier) => {
    const decided = decideMint(command, basis({ quota, tier }), instant(0))
    if (Either.isRight(decided)) return Account.available(decided.right.quota) >= 0n
    return decided.left._tag === "InsufficientQuota" && Account.available(quota) < priceUsdMicroOf(tier)
  })

  it("can spend the whole quota", () => {
    expect(refusalOf({ quota: aQuota(5_000_000n) })).toBe("minted")
    expect(refusalOf({ quota: aQuota(4_999_999n) })).toBe("InsufficientQuota")
  })

  it.each([
    ["for an unknown tier", { tier: undefined, plan: undefined }, "TierNotAvailable"],
    ["for a tier that is not for sale", { tier: aTier({ forSale: false }) }, "TierNotAvailable"],
    ["for a model that cannot be called", { tier: aTier({ modelCallable: false }) }, "TierNotAvailable"],
    ["for an unknown email", { customer: undefined, plan: undefined }, "ValidationFailed"],
    [
      "if the plan would exceed the largest safe integer",
      { plan: aPlan(BigInt(Number.MAX_SAFE_INTEGER) - 1n) },
      "TierNotAvailable"
    ]
  ])("is refused %s", (_, facts, tag) => {
    expect(refusalOf(facts)).toBe(tag)
  })

  it("names customer_email in the refusal of an unknown email", () => {
    const refused = Either.getOrThrow(Either.flip(decideMint(command, basis({ customer: undefined }), instant(0))))
    expect(refused).toMatchObject({ details: [{ path: "customer_email" }] })
  })
})

describe("the rate limit of mints", () => {
  const mintedAfter = (pauses: ReadonlyArray<number>) => {
    let at = 0
    const minted: Array<Date> = []
    for (const pause of pauses) {
      at += pause
      const decided = decideMint(command, basis({ quota: aQuota(10n ** 15n), recent: minted }), instant(at))
      if (Either.isRight(decided)) minted.push(decided.right.mint.mintedAt)
    }
    return minted.map((date) => date.getTime())
  }
  /** Mostly short pauses, so that the limit is reached and mints are admitted again later. */
  const pauses = FastCheck.array(
    FastCheck.oneof(
      { weight: 40, arbitrary: FastCheck.integer({ min: 0, max: 2_000 }) },
      { weight: 1, arbitrary: FastCheck.integer({ min: 0, max: 70_000 }) }
    ),
    { minLength: 60, maxLength: 120 }
  )

  property(
    "allows at most 30 in any interval of 60 seconds",
    [pauses],
    (pauses) => {
      const minted = mintedAfter(pauses)
      return minted.every((from) => minted.filter((at) => at >= from && at <= from + 60_000).length <= 30)
    },
    200
  )

  it("admits 30 of 300 simultaneous mints", () => {
    expect(mintedAfter(Array.from({ length: 300 }, () => 0))).toHaveLength(30)
  })

  it("applies before the checks of customer, tier and quota", () => {
    const recent = Array.from({ length: mintLimit.max }, () => instant(0))
    expect(refusalOf({ recent, customer: undefined, tier: undefined, quota: aQuota(0n) })).toBe("RateLimited")
  })
})

describe("an operation id", () => {
  const { mint } = Either.getOrThrow(decideMint(command, basis(), instant(0)))

  it("returns the first result if it is repeated", () => {
    expect(decideRepeatedMint(request, mint)).toEqual(Either.right({ mint, alreadyApplied: true }))
  })

  it.each([
    ["another customer", { customerEmail: "bob@example.com" as Email }],
    ["another tier", { planTierId: "other" }]
  ])("is a conflict when it is repeated for %s", (_, other) => {
    expect(Either.isLeft(decideRepeatedMint({ ...request, ...other }, mint))).toBe(true)
  })
})

describe("a mint request", () => {
  /** Few different letters, so that texts often have common prefixes. */
  const few = FastCheck.string({ unit: FastCheck.constantFrom("a", '"', ",", "\\"), maxLength: 3 })
  const good = { operation_id: "op-1", customer_email: " Ada@Example.com", plan_tier_id: aTier().id.toUpperCase() }
  const pathsOf = (body: unknown) =>
    Either.match(read(MintRequest)(body), {
      onLeft: ({ details }) => details.map(({ path }) => path),
      onRight: () => []
    })

  it("has its email and tier id in lower case", () => {
    expect(Either.getOrThrow(read(MintRequest)(good))).toEqual({ ...request })
  })

  it.each([
    ["an empty operation id", { operation_id: "" }, "operation_id"],
    ["an operation id of 129 characters", { operation_id: "x".repeat(129) }, "operation_id"],
    ["a NUL character in the operation id", { operation_id: "a\u0000b" }, "operation_id"],
    ["an unpaired surrogate in the operation id", { operation_id: "a\ud800" }, "operation_id"],
    ["a number as the operation id", { operation_id: 7 }, "operation_id"],
    ["an invalid email", { customer_email: "not-an-email" }, "customer_email"],
    ["a missing tier", { plan_tier_id: undefined }, "plan_tier_id"],
    ["an empty tier", { plan_tier_id: " " }, "plan_tier_id"]
  ])("is refused for %s", (_, members, path) => {
    expect(pathsOf({ ...good, ...members })).toEqual([path])
  })

  it("accepts operation ids of 1 to 128 characters", () => {
    for (const operation_id of ["x", "🔑".repeat(128), " spaced "]) {
      expect(Either.getOrThrow(read(MintRequest)({ ...good, operation_id })).operationId).toBe(operation_id)
    }
  })

  property(
    "has the fingerprint of another request if and only if customer and tier are the same",
    [few, few, few, few],
    (email, tier, otherEmail, otherTier) => {
      const one = fingerprintOf({ ...request, customerEmail: email as Email, planTierId: tier })
      const other = fingerprintOf({ ...request, customerEmail: otherEmail as Email, planTierId: otherTier })
      return (one === other) === (email === otherEmail && tier === otherTier)
    }
  )
})
