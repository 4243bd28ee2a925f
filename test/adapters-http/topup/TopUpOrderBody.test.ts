import { ListedTopUpOrder, TopUpOrderBody, toBody, toListed } from "@tollgate/adapters-http/topup/TopUpOrderBody"
import { Idr } from "@tollgate/domain/money/Idr"
import { TokenRaw } from "@tollgate/domain/money/TokenRaw"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { FastCheck, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { anOrder, instant, order, usdMicro } from "../../support/resellers.ts"

const address = (id: string) => `https://gateway.example/${id}`
const isBody = Schema.is(TopUpOrderBody)
const isListed = Schema.is(ListedTopUpOrder)

const rupiah = { _tag: "Rupiah", amountIdr: Idr(10_000n), feeIdr: Idr(500n), totalIdr: Idr(10_500n) } as const
const qris = (qrImageUrl: string | undefined) =>
  anOrder({ method: "qris", amount: rupiah, instructions: { _tag: "Qris", qrContent: "00", qrImageUrl } })

describe("a top-up order as JSON", () => {
  it("matches its documented schema for random orders", () => {
    FastCheck.assert(
      FastCheck.property(
        order.filter(({ quotaUsdMicro }) => quotaUsdMicro < 2n ** 53n),
        (any) => {
          const body = toBody(any, address)
          expect(isBody(body)).toBe(true)
          expect(isListed(toListed(any, address))).toBe(true)
          const { provider_payment_id, ...rest } = body
          expect(rest).toEqual(toListed(any, address))
          expect(provider_payment_id).toBe(any.providerPaymentId)
          expect(Object.values(body)).not.toContain(undefined)
          expect("received_raw" in body).toBe((any.received.receivedRaw ?? 0n) > 0n)
          expect("received_micro" in body).toBe("received_raw" in body)
        }
      )
    )
  })

  it("has the URL of the payment provider's QR image", () => {
    expect(toBody(qris("https://provider.example/qr"), address).qr_image_url).toBe("https://provider.example/qr")
  })

  it("has the URL of the gateway's QR image if the provider has none", () => {
    expect(toBody(qris(undefined), address).qr_image_url).toBe(
      "https://gateway.example/01930000-0000-7000-8000-0000000000aa"
    )
  })

  it("has a memo only for a deposit address that needs one", () => {
    const deposit = {
      network: "trx",
      tokenKind: "usdt",
      depositAddress: "T1",
      amount: "5.000000",
      memo: undefined
    } as const
    const body = toBody(
      anOrder({
        method: "crypto",
        instructions: { _tag: "Crypto", depositAddresses: [deposit, { ...deposit, network: "ton", memo: "7" }] }
      }),
      address
    )
    const bare = { network: "trx", token_kind: "usdt", deposit_address: "T1", amount: "5.000000" }
    expect(body.deposit_addresses).toEqual([bare, { ...bare, network: "ton", memo: "7" }])
  })

  it("has exact raw amounts as text", () => {
    const raw = 10n ** 22n + 999_999_999_999n
    const body = toBody(anOrder({ received: { receivedRaw: TokenRaw(raw), receivedUsdMicro: undefined } }), address)
    expect(body).toMatchObject({ received_raw: "10000000000999999999999", received_micro: "10000000000" })
  })

  it("has times in UTC with milliseconds", () => {
    const body = toBody(anOrder({ status: "credited", paidAt: instant(1), creditedAt: instant(1_002) }), address)
    expect([body.created_at, body.paid_at, body.credited_at]).toEqual([
      "2026-11-20T00:00:00.000Z",
      "2026-11-20T00:00:00.001Z",
      "2026-11-20T00:00:01.002Z"
    ])
  })

  it("cannot be encoded if a JSON number would round an amount", () => {
    const encode = (quotaUsdMicro: bigint) => () => toBody(anOrder({ quotaUsdMicro: UsdMicro(quotaUsdMicro) }), address)
    expect(encode(2n ** 53n - 1n)).not.toThrow()
    expect(encode(2n ** 53n)).toThrow(RangeError)
    FastCheck.assert(
      FastCheck.property(usdMicro(2n ** 53n - 1n), (amount) => {
        expect(BigInt(encode(amount)().quota_usd_micro)).toBe(amount)
      })
    )
  })
})
