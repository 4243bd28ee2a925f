/**
 * Creates resellers, orders, tiers and quota accounts for tests. All of them are valid by default.
 */
import type { ModelId } from "@tollgate/domain/catalog/Model"
import { AccountId, type QuotaAccount } from "@tollgate/domain/ledger/Account"
import { type Tier, TierId } from "@tollgate/domain/mint/Tier"
import { Idr } from "@tollgate/domain/money/Idr"
import { TokenRaw, tokenRawOf } from "@tollgate/domain/money/TokenRaw"
import { Tokens } from "@tollgate/domain/money/Tokens"
import { UsdCents } from "@tollgate/domain/money/UsdCents"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { type Reseller, ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { PaymentObservation, Received } from "@tollgate/domain/topup/PaymentObservation"
import { noEvidence, nothingReceived, OrderId, type TopUpOrder, TopUpStatus } from "@tollgate/domain/topup/TopUpOrder"
import type { Email } from "@tollgate/domain/validation/Email"
import { FastCheck } from "effect"

export const instant = (millis: number) => new Date(Date.UTC(2026, 10, 20) + millis)

export const aReseller = (facts: Partial<Reseller> = {}): Reseller => ({
  id: ResellerId.make("01930000-0000-7000-8000-000000000001"),
  email: "reseller@example.com" as Email,
  name: "Toko Token",
  waNumber: "628123456789",
  status: "active",
  tokenVersion: 0,
  createdAt: instant(0),
  ...facts
})

export const MINUTE = 60_000

/**
 * Returns a pending crypto order of 10 USD with a deposit address. It was created at `instant(0)` and expires an hour
 * later.
 */
export const anOrder = (facts: Partial<TopUpOrder> = {}): TopUpOrder => ({
  id: OrderId.make("01930000-0000-7000-8000-0000000000aa"),
  resellerId: aReseller().id,
  method: "crypto_bep20",
  amount: { _tag: "Dollars", tokenKind: "usdt" },
  quotaUsdMicro: UsdMicro(10_000_000n),
  provider: "bsc",
  simulated: false,
  depositIndex: 7,
  createdAt: instant(0),
  providerPaymentId: "bsc:0x1",
  instructions: {
    _tag: "Bep20",
    network: "bsc",
    chainId: 56,
    tokenKind: "usdt",
    contractAddress: "0x55d398326f99059fF775485246999027B3197955",
    expectedRaw: tokenRawOf(UsdMicro(10_000_000n)),
    depositAddress: "0x1"
  },
  expiresAt: instant(60 * MINUTE),
  status: "pending",
  received: nothingReceived,
  evidence: noEvidence,
  paidAt: undefined,
  creditedAt: undefined,
  refreshedAt: undefined,
  ...facts
})

/** Returns a pending QRIS order of 100,000 rupiah plus a fee of 5 %. */
export const aRupiahOrder = (facts: Partial<TopUpOrder> = {}): TopUpOrder =>
  anOrder({
    method: "qris",
    provider: "midtrans",
    depositIndex: undefined,
    amount: { _tag: "Rupiah", amountIdr: Idr(100_000n), feeIdr: Idr(5_000n), totalIdr: Idr(105_000n) },
    instructions: { _tag: "Qris", qrContent: "000201", qrImageUrl: undefined },
    ...facts
  })

export const aTier = (facts: Partial<Tier> = {}): Tier => ({
  id: TierId.make("01930000-0000-7000-8000-0000000000bb"),
  modelId: "01930000-0000-7000-8000-0000000000cc" as ModelId,
  modelName: "small",
  modelCallable: true,
  tierUsdCents: UsdCents(500n),
  grantedTokens: Tokens(2_000_000n),
  forSale: true,
  ...facts
})

export const aQuota = (balance: bigint, facts: Partial<QuotaAccount> = {}): QuotaAccount => ({
  id: AccountId("quota"),
  creditsPosted: UsdMicro(balance),
  debitsPosted: UsdMicro(0n),
  debitsPending: UsdMicro(0n),
  ...facts
})

export const raw = FastCheck.bigInt({ min: 0n, max: 10n ** 40n }).map((n) => TokenRaw(n))
export const usdMicro = (max = 10n ** 15n) => FastCheck.bigInt({ min: 0n, max }).map((n) => UsdMicro(n))

export const received: FastCheck.Arbitrary<Received> = FastCheck.record({
  receivedRaw: FastCheck.option(raw, { nil: undefined }),
  receivedUsdMicro: FastCheck.option(usdMicro(), { nil: undefined })
})

/** Any time from one day before the creation of the order until ten days after it. */
export const someTime = FastCheck.integer({ min: -24 * 60 * MINUTE, max: 10 * 24 * 60 * MINUTE }).map(instant)

const evidence = FastCheck.option(
  FastCheck.record({
    transactions: FastCheck.array(FastCheck.constantFrom("0xa", "0xb", "0xc"), { maxLength: 3 }),
    remarks: FastCheck.array(FastCheck.constantFrom("odd", "odder"), { maxLength: 2 })
  }),
  { nil: undefined }
)

export const observation: FastCheck.Arbitrary<PaymentObservation> = FastCheck.tuple(
  FastCheck.option(received, { nil: undefined }),
  evidence,
  FastCheck.option(someTime, { nil: undefined }),
  FastCheck.constantFrom(
    "Pending" as const,
    "Paid" as const,
    "Expired" as const,
    "Failed" as const,
    "Refunded" as const,
    "Suspicious" as const
  )
).map(([received, evidence, paidAt, _tag]) => ({ _tag, received, evidence, paidAt, reason: "because" }))

/** An order with any status. */
export const order: FastCheck.Arbitrary<TopUpOrder> = FastCheck.tuple(
  FastCheck.constantFrom(...TopUpStatus.literals),
  received,
  usdMicro().filter((quota) => quota > 0n)
).map(([status, received, quotaUsdMicro]) =>
  anOrder({
    status,
    received,
    quotaUsdMicro,
    paidAt: status === "crediting" || status === "credited" ? instant(MINUTE) : undefined,
    creditedAt: status === "credited" ? instant(2 * MINUTE) : undefined
  })
)
