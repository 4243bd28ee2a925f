/**
 * Tests webhooks of simulated payment providers (docs/reference/reseller.md#d9).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { RawClient } from "../support/RawClient.ts"
import { refusalIn } from "../support/ResellerRefusals.ts"
import { type Json, jsonOf, type ReceivedWebhook, textOf } from "../support/SimulatedPayments.ts"
import { type Actor, type ApiResponse, TestProgramme } from "../support/TestProgramme.ts"

let programme: TestProgramme
/** Another deployment with accounts at the same payment providers. */
let elsewhere: TestProgramme
let payer: Actor
let otherPayer: Actor
beforeAll(async () => {
  programme = await TestProgramme.start({
    withoutPictures: true,
    publicBaseUrl: "https://gateway.example/",
    trustedProxies: "127.0.0.1"
  })
  elsewhere = await TestProgramme.start()
  payer = await programme.reseller()
  otherPayer = await elsewhere.reseller()
})
afterAll(async () => {
  await programme.close()
  await elsewhere.close()
})

const SIGNED = ["content-type", "x-callback-signature", "x-callback-event", "x-nowpayments-sig"]

/** Forwards a webhook to the gateway with the signature headers and the content type of the payment provider. */
const send = ({ path, headers, body }: ReceivedWebhook, changed: Partial<ReceivedWebhook> = {}): Promise<ApiResponse> =>
  programme.post(changed.path ?? path, {
    body: changed.body ?? body,
    headers: Object.fromEntries(
      SIGNED.flatMap((name) => (headers[name] === undefined ? [] : [[name, `${headers[name]}`]]))
    )
  })

const order = async (method: string, at = programme): Promise<Json> => {
  const amount = method === "crypto" ? { amount_usd_micro: 5_000_000 } : { amount_idr: 50_000 }
  const { token } = at === programme ? payer : otherPayer
  return (await at.post("/api/reseller/topup", { token, body: { method, ...amount } })).body
}

const paid = async (
  method: string,
  at = programme
): Promise<{ readonly order: Json; readonly report: ReceivedWebhook }> => {
  const made = await order(method, at)
  await at.simulate("pay", textOf(made.order_number))
  const report = at.reports.at(-1)
  if (report === undefined) throw new Error("no webhook was sent")
  return { order: made, report }
}

const statusOf = async ({ id }: Json) =>
  (await programme.query<{ status: string }>("SELECT status FROM topup_order WHERE id = $1", [textOf(id)]))[0]?.status

const quota = async () => BigInt(textOf((await programme.get("/api/reseller/balance", payer)).body.balance_usd_micro))

describe.each([
  ["midtrans", "qris"],
  ["tripay", "hosted_qris"],
  ["nowpayments", "crypto"]
])("a webhook of %s", (provider, method) => {
  it("credits its order once", async () => {
    const before = await quota()
    const { order, report } = await paid(method)
    expect(report.path).toBe(`/webhooks/payments/${provider}`)
    expect(await statusOf(order)).toBe("pending")
    const response = await send(report)
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(await statusOf(order)).toBe("credited")
    const repeated = await Promise.all([send(report), send(report), send(report)])
    expect(repeated.map(({ status, text }) => ({ status, text }))).toEqual(
      Array(3).fill({ status: 200, text: response.text })
    )
    expect(await quota()).toBe(before + 5_000_000n)
  })

  it("receives 401 invalid_signature for a wrong or missing signature", async () => {
    const { order, report } = await paid(method)
    const forged = { ...report, body: report.body.replace(/[0-9a-f]{128}/, (found) => found.replaceAll("a", "b")) }
    const altered = report.body.replace(textOf(order.order_number), "RTO-019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70")
    const responses = [
      await send(report, { body: altered }),
      await send(provider === "midtrans" ? forged : { ...report, headers: {} }),
      await send(report, { body: "{}" }),
      await send(report, { body: "no JSON" }),
      await send(report, { body: "" })
    ]
    expect(responses.map(refusalIn)).toEqual(Array(responses.length).fill("401 invalid_signature"))
    expect(await statusOf(order)).toBe("pending")
  })

  it("is acknowledged when it names an unknown order", async () => {
    const known = await send((await paid(method)).report)
    const unknown = await send((await paid(method, elsewhere)).report)
    expect({ status: unknown.status, text: unknown.text }).toEqual({ status: 200, text: known.text })
  })

  it("receives 401 invalid_signature at the URL of another payment provider", async () => {
    const { order, report } = await paid(method)
    const other = provider === "tripay" ? "midtrans" : "tripay"
    expect(refusalIn(await send(report, { path: `/webhooks/payments/${other}` }))).toBe("401 invalid_signature")
    expect(await statusOf(order)).toBe("pending")
  })
})

describe("a webhook of a repeated payment", () => {
  const reportOf = async (
    made: Json,
    sent: { readonly amount?: string; readonly status?: string }
  ): Promise<ReceivedWebhook> => {
    await programme.sendAgain(textOf(made.order_number), sent)
    const report = programme.reports.at(-1)
    if (report === undefined) throw new Error("no webhook was sent")
    expect(jsonOf(report.body)).toMatchObject({ order_id: null, parent_payment_id: expect.any(Number) })
    return report
  }
  const rowOf = async ({ id }: Json) =>
    (
      await programme.query<{ status: string; received: string; remarks: number; again: number }>(
        `SELECT status, received_usd_micro AS received, jsonb_array_length(evidence -> 'remarks') AS remarks,
          cardinality(repeated_payments) AS again FROM topup_order WHERE id = $1`,
        [textOf(id)]
      )
    )[0]

  it("adds the deposit to a partly paid order", async () => {
    const before = await quota()
    const made = await order("crypto")
    await programme.simulate("underpay", textOf(made.order_number))
    const report = await reportOf(made, { amount: "2.5" })
    expect((await send(report)).status).toBe(200)
    expect(await rowOf(made)).toEqual({ status: "pending", received: "5000000", remarks: 1, again: 1 })
    expect((await send(report)).status).toBe(200)
    expect(await rowOf(made)).toEqual({ status: "pending", received: "5000000", remarks: 1, again: 1 })
    expect(await quota()).toBe(before)
  })

  it("credits nothing for a credited order", async () => {
    const { order: made, report: first } = await paid("crypto")
    await send(first)
    const before = await quota()
    expect((await send(await reportOf(made, { amount: "3" }))).status).toBe(200)
    expect(await rowOf(made)).toEqual({ status: "credited", received: "8000000", remarks: 1, again: 1 })
    expect((await send(await reportOf(made, { amount: "0.5", status: "partially_paid" }))).status).toBe(200)
    expect(await rowOf(made)).toEqual({ status: "credited", received: "8500000", remarks: 2, again: 2 })
    expect(await quota()).toBe(before)
  })

  it("is not required to find the deposit", async () => {
    const made = await order("crypto")
    await programme.simulate("underpay", textOf(made.order_number))
    await programme.sendAgain(textOf(made.order_number), { amount: "2" })
    const { body } = await programme.get(`/api/reseller/topup/${textOf(made.id)}`, payer)
    expect(body.status).toBe("pending")
    expect(await rowOf(made)).toEqual({ status: "pending", received: "4500000", remarks: 1, again: 0 })
  })
})

describe("a webhook", () => {
  it("receives 404 not_found for a payment provider that is not configured", async () => {
    for (const name of ["stripe", "bsc", "midtrans-simulator", "%2e%2e"]) {
      expect(refusalIn(await programme.post(`/webhooks/payments/${name}`, { body: {} }))).toBe("404 not_found")
    }
  })

  it("receives 413 request_too_large above 64 KiB", async () => {
    const client = await RawClient.connect(programme.url)
    client.head("POST", "/webhooks/payments/midtrans", [["content-length", String(64 * 1024 + 1)]])
    const { status, body } = await client.whole()
    client.leave()
    expect(status).toBe(413)
    expect(body).toContain("request_too_large")
  })

  it("is refused with 405 for GET", async () => {
    expect(refusalIn(await programme.get("/webhooks/payments/midtrans"))).toBe("405 method_not_allowed")
  })
})

it("the image URL of an order starts with PUBLIC_BASE_URL", async () => {
  const { id, qr_image_url } = await order("qris")
  const { pathname, origin } = new URL(textOf(qr_image_url))
  expect({ origin, pathname }).toEqual({ origin: "https://gateway.example", pathname: `/qr/${textOf(id)}.svg` })
})
