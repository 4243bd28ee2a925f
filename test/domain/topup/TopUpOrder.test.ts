import { TokenRaw } from "@tollgate/domain/money/TokenRaw"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import {
  anomaliesOf,
  decideNewOrder,
  excessUsdMicroOf,
  OrderId,
  orderIdNamed,
  orderIdOf,
  orderNumberOf,
  paymentStatusOf,
  receivedUsdMicroOf,
  TopUpStatus,
  tokenKindOf
} from "@tollgate/domain/topup/TopUpOrder"
import { Either, FastCheck, Option } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
import { anOrder, instant, MINUTE, order, raw } from "../../support/resellers.ts"

describe("an order number", () => {
  property("is RTO- followed by the order id", [FastCheck.uuid()], (id) => {
    const number = orderNumberOf(OrderId.make(id))
    return number === `RTO-${id}` && Option.getOrUndefined(orderIdOf(number)) === id
  })

  it.each(["", "RTO-", "RTO-1", "rto-01930000-0000-7000-8000-0000000000aa", "01930000-0000-7000-8000-0000000000aa"])(
    "cannot be %j",
    (text) => {
      expect(Option.isNone(orderIdOf(text))).toBe(true)
    }
  )
})

describe("the name of an order", () => {
  property("is its id or its number, in upper or lower case", [FastCheck.uuid()], (id) =>
    [id, `RTO-${id}`, `rto-${id}`, ` ${id.toUpperCase()} `, `Rto-${id.toUpperCase()}`].every(
      (name) => Option.getOrUndefined(orderIdNamed(name)) === id
    )
  )

  it.each(["", "RTO-", "RTO-1", "RTO-RTO-01930000-0000-7000-8000-0000000000aa"])("cannot be %j", (text) => {
    expect(Option.isNone(orderIdNamed(text))).toBe(true)
  })
})

describe("a top-up order", () => {
  it.each([
    ["pending", "pending"],
    ["crediting", "paid"],
    ["credited", "paid"],
    ["expired", "expired"],
    ["failed", "failed"]
  ] as const)("with the status %s has the payment status %s", (status, payment) => {
    expect(paymentStatusOf({ status })).toBe(payment)
  })

  it("has a token kind only if its method is crypto_bep20", () => {
    const terms = { amount: { _tag: "Dollars", tokenKind: "usdt" }, quotaUsdMicro: UsdMicro(1n) } as const
    expect(tokenKindOf({ ...terms, method: "crypto_bep20" })).toBe("usdt")
    expect(tokenKindOf({ ...terms, method: "crypto" })).toBeUndefined()
  })

  property("shows the received amount in whole micro-USD, rounded down", [raw], (receivedRaw) => {
    const shown = receivedUsdMicroOf({ received: { receivedRaw, receivedUsdMicro: undefined } }) ?? 0n
    return shown * 10n ** 12n <= receivedRaw && receivedRaw - shown * 10n ** 12n < 10n ** 12n
  })

  property("shows the received amount above the ordered quota", [order], (order) => {
    const received = receivedUsdMicroOf(order) ?? 0n
    const excess = excessUsdMicroOf(order)
    return excess === (received > order.quotaUsdMicro ? received - order.quotaUsdMicro : 0n)
  })

  it("is flagged if its payment is late, too large or too small", () => {
    const some = (micro: bigint) => ({ receivedRaw: TokenRaw(micro * 10n ** 12n), receivedUsdMicro: undefined })
    expect(anomaliesOf(anOrder())).toEqual([])
    expect(anomaliesOf(anOrder({ received: some(9_999_999n) }))).toEqual([])
    expect(anomaliesOf(anOrder({ status: "expired", received: some(9_999_999n) }))).toEqual(["underpaid"])
    expect(
      anomaliesOf(anOrder({ status: "credited", paidAt: instant(61 * MINUTE), received: some(10_000_001n) }))
    ).toEqual(["late", "overpaid"])
    expect(excessUsdMicroOf(anOrder({ received: some(10_000_001n) }))).toBe(UsdMicro(1n))
  })

  it("is flagged in every status if a refresh has recorded a remark", () => {
    const evidence = { transactions: [], remarks: ["1 usdc (in the smallest unit) at the address are not counted"] }
    for (const status of TopUpStatus.literals) {
      expect(anomaliesOf(anOrder({ status, evidence }))).toEqual(["remarked"])
    }
    expect(anomaliesOf(anOrder({ evidence: { transactions: ["0xfeed"], remarks: [] } }))).toEqual([])
  })
})

describe("a new order", () => {
  const open = (count: number) => Array.from({ length: count }, (_, i) => ({ expiresAt: instant((i + 5) * MINUTE) }))

  it("is allowed while the reseller has fewer than 50 unpaid orders", () => {
    expect(Either.isRight(decideNewOrder([], instant(0)))).toBe(true)
    expect(Either.isRight(decideNewOrder(open(49), instant(0)))).toBe(true)
  })

  it("is refused while the reseller has 50 unpaid orders", () => {
    const refused = { maxUnpaidOrders: 50, retryAfterSeconds: 300 }
    expect(Either.flip(decideNewOrder(open(50), instant(0)))).toMatchObject(Either.right(refused))
  })

  it("is refused with a retry after 20 seconds if one of 50 unpaid orders is being opened", () => {
    const orders = [...open(49), { expiresAt: undefined }]
    expect(Either.flip(decideNewOrder(orders, instant(0)))).toMatchObject(Either.right({ retryAfterSeconds: 20 }))
  })
})
