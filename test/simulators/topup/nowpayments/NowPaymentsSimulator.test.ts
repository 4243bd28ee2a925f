import { createHmac } from "node:crypto"
import { it } from "@effect/vitest"
import { SIMULATED_NOWPAYMENTS } from "@tollgate/simulators/topup/nowpayments/NowPaymentsSimulator"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { jsonOf, startedSimulator, startWebhookReceiver } from "../../../support/SimulatedPayments.ts"

const key = { "x-api-key": SIMULATED_NOWPAYMENTS.apiKey }
const ORDER = "RTO-2f1d7a52-0000-4a58-9a39-0a3f0a5d7b22"
const aPayment = (pay_currency: string, differences: object = {}) => ({
  price_amount: 25.000123,
  price_currency: "usd",
  pay_amount: 25.000123,
  pay_currency,
  order_id: ORDER,
  is_fixed_rate: false,
  ...differences
})

const opened = (coins: ReadonlyArray<string>, differences: object = {}) =>
  Effect.gen(function* () {
    const simulator = yield* startedSimulator()
    const created = yield* Effect.forEach(coins, (coin) =>
      Effect.map(simulator.post("/nowpayments/v1/payment", aPayment(coin, differences), key), ({ body, status }) => {
        expect(status).toBe(201)
        return body
      })
    )
    const statuses = Effect.forEach(created, ({ payment_id }) =>
      Effect.map(simulator.get(`/nowpayments/v1/payment/${payment_id}`, key), ({ body }) => body)
    )
    return { simulator, created, statuses }
  })

const inOrder = (value: unknown): unknown =>
  value !== null && typeof value === "object"
    ? Object.fromEntries(
        Object.entries(value)
          .map(([name, member]) => [name, inOrder(member)] as const)
          .sort(([a], [b]) => (a < b ? -1 : 1))
      )
    : value

describe("the simulated API of NOWPayments", () => {
  it.scopedLive("responds with an address and the requested amount", () =>
    Effect.gen(function* () {
      const { created, statuses } = yield* opened(["usdttrc20", "usdcbase"])
      const [tron, base] = created
      expect(tron).toMatchObject({
        payment_status: "waiting",
        pay_amount: 25.000123,
        pay_currency: "usdttrc20",
        order_id: ORDER,
        network: "trx",
        amount_received: null,
        payin_extra_id: null
      })
      expect(tron?.payment_id).toBeTypeOf("string")
      expect(tron?.pay_address).toMatch(/^T[1-9A-HJ-NP-Za-km-z]{33}$/)
      expect(base?.pay_address).toMatch(/^0x[0-9a-fA-F]{40}$/)
      const [status] = yield* statuses
      expect(status).toMatchObject({ payment_status: "waiting", actually_paid: 0, pay_amount: 25.000123 })
      expect(status?.payment_id).toBe(Number(tron?.payment_id))
    })
  )

  it.scopedLive("refuses a wrong API key, amount or coin", () =>
    Effect.gen(function* () {
      const { simulator } = yield* opened([])
      const refused = (body: unknown, headers: Record<string, string> = key) =>
        Effect.map(simulator.post("/nowpayments/v1/payment", body, headers), ({ body, status }) => [status, body.code])
      expect(yield* refused(aPayment("usdttrc20"), { "x-api-key": "other" })).toEqual([403, "INVALID_API_KEY"])
      expect(yield* refused(aPayment("usdttrc20", { pay_amount: 0.5 }))).toEqual([400, "AMOUNT_MINIMAL_ERROR"])
      expect(yield* refused(aPayment("btc"))).toEqual([400, "CURRENCY_UNAVAILABLE"])
      expect(yield* refused("no JSON")).toEqual([400, "BAD_REQUEST"])
      expect((yield* simulator.get("/nowpayments/v1/payment/1", key)).status).toBe(404)
    })
  )

  it.scopedLive("lists the coins of the account", () =>
    Effect.gen(function* () {
      const { simulator } = yield* opened([])
      const coins = yield* simulator.get("/nowpayments/v1/merchant/coins", key)
      for (const coin of SIMULATED_NOWPAYMENTS.currencies)
        expect(coins.body.selectedCurrencies).toContain(coin.toUpperCase())
      const least = "/nowpayments/v1/min-amount?currency_from=usdttrc20&currency_to=usdttrc20&fiat_equivalent=usd"
      expect((yield* simulator.get(least, key)).body.min_amount).toBe(1)
      expect((yield* simulator.get("/nowpayments/v1/status")).body).toEqual({ message: "OK" })
    })
  )

  it.scopedLive("pays an expired order in one coin", () =>
    Effect.gen(function* () {
      const { created, simulator, statuses } = yield* opened(["usdttrc20", "usdcbase"])
      const named = Effect.map(statuses, (all) => all.map((one) => [one.payment_status, one.actually_paid]))
      const expired = yield* simulator.post(`/expire/${ORDER}`)
      expect(expired.body.other_coins).toHaveLength(1)
      expect(yield* named).toEqual([
        ["expired", 0],
        ["expired", 0]
      ])
      yield* simulator.post(`/pay/${created[1]?.pay_address}`)
      expect(yield* named).toEqual([
        ["expired", 0],
        ["finished", 25.000123]
      ])
      expect((yield* simulator.post(`/fail/${ORDER}`)).status).toBe(409)
    })
  )

  it.scopedLive("accepts partial payments and overpayments", () =>
    Effect.gen(function* () {
      const { simulator, statuses } = yield* opened(["usdttrc20", "usdcbase"])
      const named = Effect.map(statuses, (all) => all.map((one) => [one.payment_status, one.actually_paid]))
      yield* simulator.post(`/underpay/${ORDER}`)
      expect(yield* named).toEqual([
        ["partially_paid", 12.500061],
        ["waiting", 0]
      ])
      yield* simulator.post(`/overpay/${ORDER}`)
      expect(yield* named).toEqual([
        ["finished", 27.500135],
        ["waiting", 0]
      ])
    })
  )

  it.scopedLive("makes a separate record of a repeated payment", () =>
    Effect.gen(function* () {
      const receiver = yield* startWebhookReceiver()
      const { created, simulator } = yield* opened(["usdttrc20"], { ipn_callback_url: `${receiver.url}/ipn` })
      const [first] = created
      expect((yield* simulator.post(`/again/${ORDER}`, { amount: "5" })).status).toBe(409)
      yield* simulator.post(`/underpay/${ORDER}`)
      expect((yield* simulator.post(`/again/${ORDER}`, { amount: "0.0000001" })).status).toBe(409)
      const again = yield* simulator.post(`/again/${ORDER}`, { amount: "5", status: "partially_paid" })
      expect(again.body).toMatchObject({ order_number: null, pay_to: first?.pay_address, received: "5" })

      const notification = jsonOf(receiver.webhooks.at(-1)?.body ?? "")
      expect(notification).toMatchObject({
        payment_id: Number(again.body.reference),
        parent_payment_id: Number(first?.payment_id),
        order_id: null,
        payment_status: "partially_paid",
        actually_paid: 5
      })
      const status = yield* simulator.get(`/nowpayments/v1/payment/${first?.payment_id}`, key)
      expect(status.body).toMatchObject({
        actually_paid: 12.500061,
        payment_extra_ids: [Number(again.body.reference)]
      })
      const ofRepeat = yield* simulator.get(`/nowpayments/v1/payment/${again.body.reference}`, key)
      expect(ofRepeat.body).toMatchObject({
        order_id: null,
        pay_address: first?.pay_address,
        payment_extra_ids: null
      })
      expect((yield* simulator.post("/again/RTO-2")).status).toBe(404)
    })
  )

  it.scopedLive("signs the body of a webhook with sorted members", () =>
    Effect.gen(function* () {
      const receiver = yield* startWebhookReceiver()
      const { created, simulator } = yield* opened(["usdttrc20"], { ipn_callback_url: `${receiver.url}/ipn` })
      yield* simulator.post(`/pay/${ORDER}`)
      const [webhook] = receiver.webhooks
      const notification = jsonOf(webhook?.body ?? "")
      expect(notification).toMatchObject({
        order_id: ORDER,
        payment_status: "finished",
        fee: { currency: "usdttrc20" }
      })
      expect(notification.payment_id).toBe(Number(created[0]?.payment_id))
      expect(webhook?.headers["x-nowpayments-sig"]).toBe(
        createHmac("sha512", SIMULATED_NOWPAYMENTS.ipnSecret)
          .update(JSON.stringify(inOrder(notification)))
          .digest("hex")
      )
    })
  )
})
