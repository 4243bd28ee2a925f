import * as Breaker from "@tollgate/domain/inference/Breaker"
import { describe, expect, it } from "vitest"

const settings = { failures: 3, windowMillis: 1_000, openMillis: 500 }
const failTimes = (times: ReadonlyArray<number>) =>
  times.reduce((breaker, at) => Breaker.failed(breaker, settings, at), Breaker.closed)

describe("a circuit breaker", () => {
  it("admits a request while the failures are below the limit", () => {
    expect(Breaker.pass(failTimes([0, 1]), settings, 2).admitted).toBe(true)
  })

  it("opens when the failures in the window reach the limit", () => {
    expect(Breaker.pass(failTimes([0, 1, 2]), settings, 100)).toEqual({ admitted: false, retryAfterMillis: 402 })
  })

  it("does not count failures older than the window", () => {
    expect(Breaker.pass(failTimes([0, 1, 1_500]), settings, 1_501).admitted).toBe(true)
  })

  it("admits exactly one probe after the open time", () => {
    const first = Breaker.pass(failTimes([0, 1, 2]), settings, 502)
    expect(first.admitted).toBe(true)
    if (first.admitted) expect(Breaker.pass(first.breaker, settings, 503).admitted).toBe(false)
  })

  it("closes if the probe is served", () => {
    expect(Breaker.served({ state: "half_open" })).toEqual(Breaker.closed)
  })

  it("opens again if the probe fails", () => {
    expect(Breaker.failed({ state: "half_open" }, settings, 1_000)).toEqual({ state: "open", untilMillis: 1_500 })
  })

  it("admits another probe if the first probe ends without a result", () => {
    const probed = Breaker.undecided({ state: "half_open" }, 1_000)
    expect(Breaker.pass(probed, settings, 1_000).admitted).toBe(true)
  })

  it("does not count earlier failures after a success", () => {
    expect(Breaker.served(failTimes([0, 1]))).toEqual(Breaker.closed)
  })
})
