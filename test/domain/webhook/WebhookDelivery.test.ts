import { type CallResult, decideDelivery } from "@tollgate/domain/webhook/WebhookDelivery"
import { describe, expect, it } from "vitest"

const START = Date.parse("2026-11-20T09:30:00.000Z")
const expiresAt = new Date(START + 24 * 3_600_000)
const responded = (status: number): CallResult => ({ _tag: "Responded", status })
const noResponse: CallResult = { _tag: "NoResponse", reason: "timeout" }

/** Returns the seconds from the event to each attempt, if no attempt is accepted. */
const attemptsOf = (jitter: number, result: CallResult) => {
  const seconds: Array<number> = []
  let now = new Date(START)
  for (let number = 1; number < 100; number++) {
    seconds.push((now.getTime() - START) / 1_000)
    const decision = decideDelivery({ number, expiresAt }, result, now, jitter)
    if (decision.status !== "pending") return { seconds, status: decision.status }
    now = decision.nextAttemptAt
  }
  return { seconds, status: "pending" }
}

describe("a delivery", () => {
  it.each([200, 201, 204, 299])("has the status delivered after a response with status %i", (status) => {
    expect(decideDelivery({ number: 1, expiresAt }, responded(status), new Date(START), 0)).toEqual({
      status: "delivered"
    })
  })

  it.each([199, 300, 301, 308, 400, 404, 410, 429, 500, 503])(
    "is attempted again after a response with status %i",
    (status) => {
      expect(decideDelivery({ number: 1, expiresAt }, responded(status), new Date(START), 0.5)).toEqual({
        status: "pending",
        nextAttemptAt: new Date(START + 5_000)
      })
    }
  )

  it("fails after attempts for 24 hours", () => {
    expect(attemptsOf(0.5, noResponse)).toEqual({
      seconds: [0, 5, 25, 105, 425, 1_705, 6_825, 21_225, 35_625, 50_025, 64_425, 78_825, 86_400],
      status: "failed"
    })
  })

  it.each([0, 0.25, 1])("has its last attempt after 24 hours with the jitter %d", (jitter) => {
    const { seconds, status } = attemptsOf(jitter, responded(503))
    expect([seconds.at(-1), status]).toEqual([86_400, "failed"])
    expect(seconds[1]).toBeCloseTo(5 * (0.8 + 0.4 * jitter), 3)
    expect(seconds.length).toBeLessThan(20)
  })

  it("is delivered if the last response is a success that arrives after 24 hours", () => {
    const late = new Date(expiresAt.getTime() + 9_000)
    expect(decideDelivery({ number: 13, expiresAt }, responded(200), late, 0)).toEqual({ status: "delivered" })
    expect(decideDelivery({ number: 13, expiresAt }, noResponse, late, 0)).toEqual({ status: "failed" })
  })
})
