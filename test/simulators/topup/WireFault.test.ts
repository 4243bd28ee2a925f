import { it } from "@effect/vitest"
import { SIMULATED_MIDTRANS } from "@tollgate/simulators/topup/midtrans/MidtransSimulator"
import { SIMULATED_NOWPAYMENTS } from "@tollgate/simulators/topup/nowpayments/NowPaymentsSimulator"
import { Effect, Exit } from "effect"
import { describe, expect } from "vitest"
import { listOf, startedSimulator } from "../../support/SimulatedPayments.ts"

const WIRES = ["/midtrans/v2/RTO-1/status", "/tripay/transaction/detail", "/nowpayments/v1/status", "/bsc"]
const authorization = { authorization: `Basic ${Buffer.from(`${SIMULATED_MIDTRANS.serverKey}:`).toString("base64")}` }
const charge = (order_id: string) => ({
  payment_type: "qris",
  transaction_details: { order_id, gross_amount: 20_000 }
})

describe("a fault of the simulator", () => {
  it.scopedLive("replaces the responses of every provider", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      expect((yield* simulator.get("/fault")).body).toEqual({ mode: "none", provider: "all" })
      for (const [mode, status] of [
        ["503", 503],
        ["429", 429],
        ["html", 200]
      ]) {
        expect((yield* simulator.post("/fault", { mode })).body).toEqual({ mode, provider: "all" })
        for (const wire of WIRES) {
          const faulty = yield* simulator.get(wire)
          expect(faulty.status).toBe(status)
          expect(faulty.headers.get("x-payment-simulator")).toBe("true")
          expect(faulty.headers.get("retry-after")).toBe(mode === "429" ? "1" : null)
          if (mode === "html") expect(faulty.text).toContain("<h1>")
        }
        expect((yield* simulator.get("/payments")).status).toBe(200)
      }
      yield* simulator.post("/fault", { mode: "none" })
      expect((yield* simulator.get("/nowpayments/v1/status")).body).toEqual({ message: "OK" })
    })
  )

  it.scopedLive("of the mode hang or reset loses only the response", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      yield* simulator.post("/fault", { mode: "reset" })
      const reset = yield* Effect.exit(simulator.post("/midtrans/v2/charge", charge("RTO-reset"), authorization))
      expect(Exit.isFailure(reset)).toBe(true)
      yield* simulator.post("/fault", { mode: "hang" })
      const hanging = simulator.post("/midtrans/v2/charge", charge("RTO-hang"), authorization)
      expect(
        yield* Effect.timeoutTo(hanging, { duration: 300, onSuccess: () => "response", onTimeout: () => "none" })
      ).toBe("none")
      const payments = listOf((yield* simulator.get("/payments")).body.payments)
      expect(payments.map(({ order_number }) => order_number)).toEqual(["RTO-hang", "RTO-reset"])
    })
  )

  it.scopedLive("can be limited to one provider", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      yield* simulator.post("/fault", { mode: "503", provider: "midtrans" })
      expect((yield* simulator.get("/midtrans/v2/RTO-1/status")).status).toBe(503)
      const key = { "x-api-key": SIMULATED_NOWPAYMENTS.apiKey }
      expect((yield* simulator.get("/nowpayments/v1/merchant/coins", key)).status).toBe(200)
    })
  )

  it.scopedLive("is refused if its mode or provider is unknown", () =>
    Effect.gen(function* () {
      const simulator = yield* startedSimulator()
      for (const wrong of [{ mode: "slow" }, { mode: "503", provider: "stripe" }, {}, "no JSON"]) {
        const refused = yield* simulator.post("/fault", wrong)
        expect(refused.status).toBe(422)
        expect(refused.body.error?.message).toContain("hang")
      }
      expect((yield* simulator.get("/fault")).body.mode).toBe("none")
    })
  )
})
