import { createServer, request } from "node:http"
import { connect } from "node:net"
import { it } from "@effect/vitest"
import { SIMULATED_NOWPAYMENTS } from "@tollgate/simulators/topup/nowpayments/NowPaymentsSimulator"
import { startOrJoin } from "@tollgate/simulators/topup/PaymentSimulator"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { clientOf, listen, startedSimulator, startWebhookReceiver } from "../../support/SimulatedPayments.ts"

const key = { "x-api-key": SIMULATED_NOWPAYMENTS.apiKey }
const aPayment = (order_id: string) => ({
  price_amount: 10,
  price_currency: "usd",
  pay_currency: "usdtbsc",
  order_id
})
const FORM = { "content-type": "application/x-www-form-urlencoded", accept: "text/html" }

describe("a payment simulator", () => {
  it.scopedLive("marks its responses as simulated", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      for (const path of ["/", "/payments", "/nowhere", "/midtrans/v2/RTO-1/status", "/bsc", "/tripay/qr/T1"])
        expect((yield* simulator.get(path)).headers.get("x-payment-simulator")).toBe("true")
      const unknown = yield* simulator.get("/nowhere")
      expect(unknown.status).toBe(404)
      expect(unknown.body.error?.message).toContain("/fault")
    })
  )

  it.scopedLive("refuses requests from other hosts and origins", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const { port } = new URL(simulator.baseUrl)
      expect(yield* isOpen("127.0.0.1", Number(port))).toBe(true)
      expect(yield* isOpen("127.0.0.2", Number(port))).toBe(false)
      expect(yield* isOpen("::1", Number(port))).toBe(false)
      expect(yield* statusFor(port, { host: "evil.example" })).toBe(403)
      expect(yield* statusFor(port, { host: `127.0.0.1:${port}`, origin: "http://evil.example" })).toBe(403)
      expect(yield* statusFor(port, { host: `localhost:${port}`, origin: `http://localhost:${port}` })).toBe(200)
    })
  )

  it.scopedLive("refuses an unknown payment with a hint, and a body that is too large", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      for (const action of ["pay", "underpay", "overpay", "expire", "fail"]) {
        const refused = yield* simulator.post(`/${action}/RTO-unknown`)
        expect([refused.status, refused.body.error?.code]).toEqual([404, "unknown_order"])
        expect(refused.body.error?.message).toContain("GET /payments")
      }
      expect((yield* simulator.post("/pay/%E0%A4%A")).status).toBe(404)
      expect((yield* simulator.post("/nowpayments/v1/payment", "x".repeat(70_000), key)).status).toBe(413)
    })
  )

  it.scopedLive("serves a page with a button for each action", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const { body } = yield* simulator.post("/nowpayments/v1/payment", aPayment("RTO-<script>"), key)
      const page = yield* simulator.get("/")
      expect(page.headers.get("content-security-policy")).toContain("default-src 'none'")
      expect(page.text).toContain('<html lang="en">')
      expect(page.text).toContain("Payment simulator, not real.")
      expect(page.text).toContain("prefers-color-scheme: dark")
      expect(page.text).not.toMatch(/<script|<link|@import|url\(|src="http|\son\w+=/)
      expect(page.text).toContain("RTO-&#60;script&#62;")
      for (const shown of ["10 USDTBSC", `${body.pay_address}`, "nowpayments, crypto"])
        expect(page.text).toContain(`<dd>${shown}</dd>`)
      for (const label of ["Pay", "Underpay", "Overpay", "Expire", "Fail"])
        expect(page.text).toContain(`>${label}</button>`)
      const pressed = yield* simulator.post(`/pay/${body.payment_id}`, "", FORM)
      expect([pressed.status, pressed.headers.get("location")]).toEqual([303, "/"])
      const after = yield* simulator.get("/")
      expect(after.text).toContain("Closed payments (1)")
      expect(after.text).toContain(`pay ${body.payment_id}: paid`)
      const fault = yield* simulator.post("/fault", "mode=503&provider=bsc", FORM)
      expect(fault.status).toBe(303)
      expect((yield* simulator.get("/fault")).body).toEqual({ mode: "503", provider: "bsc" })
    })
  )

  it.scopedLive("sends webhooks to the gateway if the payment names no URL", () =>
    Effect.gen(function* () {
      const receiver = yield* startWebhookReceiver()
      const simulator = yield* startedSimulator({ webhookBase: receiver.url })
      yield* simulator.post("/nowpayments/v1/payment", aPayment("RTO-1"), key)
      const paid = yield* simulator.post("/pay/RTO-1")
      expect(paid.body.webhook).toEqual({ url: `${receiver.url}/webhooks/payments/nowpayments`, status: 200 })
      yield* simulator.post("/pay/RTO-1")
      expect(receiver.webhooks.map(({ path }) => path)).toEqual(Array(2).fill("/webhooks/payments/nowpayments"))
    })
  )

  it.scopedLive("marks a payment with a failing webhook as paid", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      const unreachable = { ipn_callback_url: "http://127.0.0.1:1/ipn" }
      yield* simulator.post("/nowpayments/v1/payment", { ...aPayment("RTO-1"), ...unreachable }, key)
      const paid = yield* simulator.post("/pay/RTO-1")
      expect(paid.body).toMatchObject({ status: "paid", webhook: { url: unreachable.ipn_callback_url } })
      expect(paid.body.webhook?.status).toBeUndefined()
    })
  )
})

describe("a shared payment simulator", () => {
  it.scopedLive("is started by the first server and joined by the second", () =>
    Effect.gen(function* () {
      const port = yield* aFreePort
      const first = yield* startOrJoin({ port })
      const second = yield* startOrJoin({ port })
      expect(first.baseUrl).toBe(`http://127.0.0.1:${port}`)
      expect(second).toEqual(first)
      yield* clientOf(second.baseUrl).post("/nowpayments/v1/payment", aPayment("RTO-1"), key)
      expect((yield* clientOf(first.baseUrl).get("/payments")).body.payments).toHaveLength(1)
    })
  )

  it.scopedLive("uses a free port when another program uses its port", () =>
    Effect.gen(function* () {
      const otherServer = createServer((_, response) => response.end("no simulator"))
      const port = yield* Effect.acquireRelease(listen(otherServer), () => Effect.sync(() => otherServer.close()))
      const { baseUrl } = yield* startOrJoin({ port })
      expect(baseUrl).not.toContain(`:${port}`)
      expect((yield* clientOf(baseUrl).get("/fault")).status).toBe(200)
    })
  )
})

/** Finds a port that no program uses. */
const aFreePort = Effect.suspend(() => {
  const server = createServer()
  return Effect.tap(listen(server), () => Effect.async<void>((resume) => void server.close(() => resume(Effect.void))))
})

const isOpen = (host: string, port: number): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    const socket = connect({ host, port })
    socket.once("connect", () => resume(Effect.succeed(true)))
    socket.once("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => socket.destroy())
  }).pipe(Effect.timeoutTo({ duration: "1 second", onSuccess: (open) => open, onTimeout: () => false }))

const statusFor = (port: string, headers: Record<string, string>): Effect.Effect<number> =>
  Effect.async((resume) => {
    request({ host: "127.0.0.1", port, headers }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode ?? 0))
    }).end()
  })
