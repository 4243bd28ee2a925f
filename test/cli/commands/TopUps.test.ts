import { describe, expect, layer } from "@effect/vitest"
import * as PgDatabase from "@tollgate/adapters-postgres/operations/PgDatabase"
import * as ConfiguredProviders from "@tollgate/adapters-upstream/topup/ConfiguredProviders"
import { Database } from "@tollgate/application/operations/Database"
import * as OrderPayments from "@tollgate/application/topup/OrderPayments"
import { createTopUp, TopUpPolicy } from "@tollgate/application/topup/TopUps"
import type { Reseller } from "@tollgate/domain/reseller/Reseller"
import { orderNumberOf } from "@tollgate/domain/topup/TopUpOrder"
import { defaultBounds } from "@tollgate/domain/topup/TopUpRequest"
import { paymentSimulation } from "@tollgate/simulators/topup/PaymentSimulator"
import { Effect, Layer } from "effect"
import { startedSimulator, textOf } from "../../support/SimulatedPayments.ts"
import { A_TIME, documentOf, tollgate } from "../CommandLine.ts"
import * as Programme from "./Programme.ts"

const simulator = Effect.tap(startedSimulator(), ({ baseUrl }) =>
  Effect.sync(() => Object.assign(process.env, { PAYMENTS_SIMULATOR: "on", PAYMENTS_SIM_PORT: new URL(baseUrl).port }))
)

/** Creates an order of ten USD, as a server that uses this simulator does. */
const ordered = (reseller: Reseller, simulatorUrl: string) => {
  const expiryMinutes = { qris: 15, hosted_qris: 60, crypto: 60, crypto_bep20: 60 }
  const providers = Layer.unwrapEffect(
    Effect.map(
      Effect.flatMap(Database, ({ identity }) => identity),
      (deployment) =>
        ConfiguredProviders.layer({
          current: ConfiguredProviders.simulatedProviders(expiryMinutes, {
            simulation: paymentSimulation,
            simulatorUrl,
            deployment,
            gatewayUrl: undefined
          })
        })
    )
  )
  return createTopUp(reseller, { method: "crypto_bep20", amount_usd_micro: 10_000_000 }).pipe(
    Effect.map(({ order }) => order),
    Effect.provide(Layer.provideMerge(OrderPayments.layer, providers)),
    Effect.provideService(TopUpPolicy, { bounds: defaultBounds })
  )
}

describe("tollgate topups", () => {
  layer(Layer.provideMerge(PgDatabase.layer, Programme.layer), { excludeTestServices: true })((it) => {
    it.effect("lists the newest order first", () =>
      Effect.gen(function* () {
        const none = yield* tollgate("topups", "list")
        expect(none, none.stderr).toMatchObject({ code: 0, stdout: "No orders found.\n" })
        const ada = yield* Programme.signedUp("ada@example.com")
        const grace = yield* Programme.signedUp("grace@example.com")
        const qris = yield* Programme.orderedQris(ada.id)
        const paid = yield* Programme.orderedBep20(grace.id, 12_000_000n)

        const all = documentOf(yield* tollgate("topups", "list", "--json"))
        expect(all).toMatchObject([{ id: paid.id }, { id: qris.id }])
        const ofAda = yield* tollgate("topups", "list", "--reseller", "ada@example.com", "--json")
        expect(documentOf(ofAda)).toMatchObject([{ id: qris.id, reseller_email: "ada@example.com" }])
        const credited = yield* tollgate("topups", "list", "--status", "credited", "--limit", "1", "--json")
        expect(documentOf(credited)).toMatchObject([{ id: paid.id, anomalies: ["overpaid", "remarked"] }])
        const { stdout } = yield* tollgate("topups", "list")
        expect(stdout).toMatch(/^CREATED +RESELLER +PROVIDER +TO PAY +QUOTA USD +STATUS +ORDER ID$/m)
        expect(stdout).toMatch(/ ada@example\.com +midtrans +105000 IDR +10\.000000 +pending /)
        expect(stdout).toMatch(/ grace@example\.com +bsc +10\.000000 USD +10\.000000 +credited, overpaid, remarked /)
        expect(yield* tollgate("topups", "list", "--reseller", "unknown@example.com")).toMatchObject({ code: 3 })
      })
    )

    it.effect("shows an order by id or number", () =>
      Effect.gen(function* () {
        const { id: resellerId } = yield* Programme.signedUp("shown@example.com")
        const order = yield* Programme.orderedBep20(resellerId, 4_000_000n)
        const shown = yield* tollgate("topups", "show", orderNumberOf(order.id), "--json")
        expect(documentOf(shown)).toEqual({
          id: order.id,
          order_number: `RTO-${order.id}`,
          reseller_id: resellerId,
          reseller_email: "shown@example.com",
          payment_method: "crypto_bep20",
          provider: "bsc",
          provider_payment_id: `bsc:${order.id}`,
          simulated: false,
          token_kind: "usdt",
          quota_usd_micro: "10000000",
          status: "pending",
          payment_status: "pending",
          received_raw: "4000000000000000000",
          received_usd_micro: "4000000",
          excess_usd_micro: "0",
          anomalies: ["remarked"],
          transactions: ["0xfeed"],
          remarks: ["seen by a test"],
          pay_to: [expect.stringMatching(/^bsc:0x/)],
          created_at: A_TIME,
          expires_at: A_TIME,
          paid_at: null,
          credited_at: null,
          checked_at: A_TIME
        })
        const { stdout } = yield* tollgate("topups", "show", order.id)
        expect(stdout).toMatch(/^Received +4\.000000 USD$/m)
        expect(stdout).toMatch(/^Remarks +seen by a test$/m)
      })
    )

    it.effect("refuses an unknown order and an invalid id", () =>
      Effect.gen(function* () {
        const unknown = "01930000-0000-7000-8000-0000000000aa"
        for (const command of ["show", "reconcile"]) {
          const missing = yield* tollgate("topups", command, unknown, "--json")
          expect(missing, missing.stderr).toMatchObject({ code: 3 })
          expect(documentOf(missing)).toMatchObject({ error: { code: "topup_not_found" } })
          expect(yield* tollgate("topups", command, "RTO-1")).toMatchObject({ code: 2, stdout: "" })
        }
      })
    )

    it.scoped("credits an order that its provider reports as paid", () =>
      Effect.gen(function* () {
        const { baseUrl, post } = yield* simulator
        const reseller = yield* Programme.signedUp("payer@example.com")
        const [first, second] = yield* Effect.all([ordered(reseller, baseUrl), ordered(reseller, baseUrl)])
        const unpaid = yield* tollgate("topups", "reconcile", first.id, "--json")
        expect(unpaid, unpaid.stderr).toMatchObject({ code: 0 })
        expect(documentOf(unpaid)).toMatchObject({ status: "pending", simulated: true })

        expect((yield* post(`/pay/${orderNumberOf(first.id)}`)).status).toBe(200)
        const paid = documentOf(yield* tollgate("topups", "reconcile", orderNumberOf(first.id), "--json"))
        expect(paid).toMatchObject({ status: "credited", payment_status: "paid", credited_at: A_TIME })
        const again = yield* tollgate("topups", "reconcile", first.id)
        expect(again.stdout).toMatch(/^Status +credited$/m)

        yield* post(`/pay/${orderNumberOf(second.id)}`)
        const all = yield* tollgate("topups", "reconcile", "--json")
        // The 2 open orders of the tests above belong to providers that are not configured in this test.
        const counts = { looked: 1, answered: 1, unanswered: 0, unasked: 2, credited: 1 }
        expect(documentOf(all), all.stderr).toEqual(counts)
        expect(all.stderr).toContain("the provider of 2 open orders is not configured in this environment")
        const shown = documentOf(yield* tollgate("resellers", "show", "payer@example.com", "--json"))
        expect(shown).toMatchObject({ balance_usd_micro: "20000000" })
        expect(documentOf(yield* tollgate("audit", "--json"))).toMatchObject({ ok: true })
      })
    )

    it.scoped("shows a later payment of a credited order as an excess", () =>
      Effect.gen(function* () {
        const { baseUrl, post } = yield* simulator
        const reseller = yield* Programme.signedUp("twice@example.com")
        const order = yield* ordered(reseller, baseUrl)
        const reconciled = () => tollgate("topups", "reconcile", order.id, "--json")
        yield* post(`/pay/${orderNumberOf(order.id)}`)
        expect(documentOf(yield* reconciled())).toMatchObject({
          status: "credited",
          excess_usd_micro: "0",
          anomalies: []
        })

        if (order.instructions._tag !== "Bep20") throw new Error("the order has no deposit address")
        const { depositAddress, contractAddress } = order.instructions
        const sent = yield* post("/bsc/transfers", {
          deposit_address: depositAddress,
          contract_address: contractAddress,
          raw: "10000000000000000000"
        })
        yield* Effect.sleep(Date.parse(textOf(sent.body.final_at)) - Date.now() + 10)
        const twice = { received_usd_micro: "20000000", excess_usd_micro: "10000000", anomalies: ["overpaid"] }
        const again = yield* reconciled()
        expect(again, again.stderr).toMatchObject({ code: 0 })
        expect(documentOf(again)).toMatchObject({ status: "credited", ...twice })
        expect(documentOf(yield* tollgate("topups", "show", order.id, "--json"))).toMatchObject(twice)
        expect((yield* tollgate("topups", "list", "--reseller", "twice@example.com")).stdout).toContain(
          "credited, overpaid"
        )
        const shown = documentOf(yield* tollgate("resellers", "show", "twice@example.com", "--json"))
        expect(shown).toMatchObject({ balance_usd_micro: "10000000" })

        yield* post("/fault", { mode: "503", provider: "all" })
        const silent = yield* Effect.ensuring(reconciled(), post("/fault", { mode: "none", provider: "all" }))
        expect(silent, silent.stderr).toMatchObject({ code: 1 })
      })
    )

    it.scoped("reports the number of orders that could not be refreshed", () =>
      Effect.gen(function* () {
        const { baseUrl, post } = yield* simulator
        const reseller = yield* Programme.signedUp("silent@example.com")
        yield* Effect.all([ordered(reseller, baseUrl), ordered(reseller, baseUrl)])
        yield* post("/fault", { mode: "503", provider: "all" })
        const all = tollgate("topups", "reconcile", "--json")
        const down = yield* Effect.ensuring(all, post("/fault", { mode: "none", provider: "all" }))
        expect(down, down.stderr).toMatchObject({ code: 1 })
        expect(documentOf(down)).toMatchObject({ looked: 2, answered: 0, unanswered: 2, credited: 0 })
        expect(down.stderr).toContain("2 of 2 orders could not be refreshed from their providers")
        expect(documentOf(yield* all)).toMatchObject({ looked: 2, answered: 2, unanswered: 0, credited: 0 })
      })
    )

    it.scoped("flags an order whose address received the other token", () =>
      Effect.gen(function* () {
        const { baseUrl, post } = yield* simulator
        const order = yield* ordered(yield* Programme.signedUp("stray@example.com"), baseUrl)
        if (order.instructions._tag !== "Bep20") throw new Error("the order has no deposit address")
        const sent = yield* post("/bsc/transfers", {
          deposit_address: order.instructions.depositAddress,
          contract_address: "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",
          raw: "10000000000000000000"
        })
        yield* Effect.sleep(Date.parse(textOf(sent.body.final_at)) - Date.now() + 10)
        expect(documentOf(yield* tollgate("topups", "reconcile", order.id, "--json"))).toMatchObject({
          status: "pending",
          received_usd_micro: null,
          anomalies: ["remarked"],
          remarks: ["10000000000000000000 usdc (in the smallest unit) at the address are not counted"]
        })
        expect((yield* tollgate("topups", "list", "--reseller", "stray@example.com")).stdout).toContain(
          "pending, remarked"
        )
      })
    )

    it.effect("shows the stored order when its provider is not configured", () =>
      Effect.gen(function* () {
        const { id } = yield* Programme.signedUp("away@example.com")
        const order = yield* Programme.orderedQris(id)
        const reconcile = yield* tollgate("topups", "reconcile", order.id, "--json")
        expect(reconcile, reconcile.stderr).toMatchObject({ code: 1 })
        expect(documentOf(reconcile)).toMatchObject({ status: "pending", checked_at: null })
        expect(reconcile.stderr).toContain("The order could not be refreshed from midtrans")
      })
    )

    it.effect("refuses incomplete payment settings for reconcile", () =>
      Effect.gen(function* () {
        process.env.TRIPAY_API_KEY = "hunter2"
        const reconcile = yield* tollgate("topups", "reconcile", "--json")
        const listed = yield* tollgate("topups", "list", "--json")
        delete process.env.TRIPAY_API_KEY
        expect(reconcile.code).toBe(1)
        expect(documentOf(reconcile)).toMatchObject({ error: { code: "invalid_settings" } })
        expect(reconcile.stderr).toContain(
          "TRIPAY_PRIVATE_KEY, TRIPAY_MERCHANT_CODE: required together with TRIPAY_API_KEY"
        )
        expect(reconcile.stderr).not.toContain("hunter2")
        expect(listed.code).toBe(0)
      })
    )
  })
})
