import * as ProviderGate from "@tollgate/adapters-upstream/inference/ProviderGate"
import type { Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { ProviderName } from "@tollgate/domain/catalog/Provider"
import { Either, FastCheck } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { law } from "../../support/law.ts"
import { aCandidate, aRoute } from "../../support/upstream/Candidates.ts"

let now = 0
let notices: Array<ProviderGate.GateNotice> = []
let gate: ProviderGate.ProviderGate

const newGate = () => ProviderGate.make({ nowMillis: () => now, onNotice: (notice) => notices.push(notice) })

beforeEach(() => {
  now = 0
  notices = []
  gate = newGate()
})

const enter = (candidate: Candidate): ProviderGate.Slot => Either.getOrThrow(gate.enter(candidate))
const refusal = (candidate: Candidate) => Either.getOrThrow(Either.flip(gate.enter(candidate)))
const fail = (candidate: Candidate, times: number) => {
  for (let i = 0; i < times; i++) enter(candidate).leave("failed")
}

describe("slots", () => {
  const two = aCandidate({ maxConcurrency: 2 })

  it("are refused when all are taken, with a time to come back", () => {
    enter(two)
    enter(two)
    expect(refusal(two)).toMatchObject({ _tag: "Overloaded", retryAfterSeconds: 1 })
  })

  it("are given back once, however often they are left", () => {
    const slot = enter(two)
    enter(two)
    slot.leave("served")
    slot.leave("served")
    slot.leave("failed")
    enter(two)
    expect(refusal(two)._tag).toBe("Overloaded")
  })

  it("are counted by provider, over all its routes", () => {
    enter(two)
    enter({ ...two, route: aRoute({ upstreamModel: "other" }) })
    expect(refusal(two)._tag).toBe("Overloaded")
    enter(aCandidate({ name: ProviderName("another"), maxConcurrency: 2 }))
  })

  it("survive a new catalog, whose limit holds at once", () => {
    enter(two)
    enter(two)
    const three = aCandidate({ maxConcurrency: 3 })
    enter(three)
    expect(refusal(three)._tag).toBe("Overloaded")
    expect(refusal(aCandidate({ maxConcurrency: 1 }))._tag).toBe("Overloaded")
  })

  law(
    "taken are never more than allowed, and all come back",
    [FastCheck.array(FastCheck.tuple(FastCheck.boolean(), FastCheck.nat(20)), { maxLength: 80 })],
    (moves) => {
      const gate = newGate()
      const five = aCandidate({ maxConcurrency: 5 })
      const inside: Array<ProviderGate.Slot> = []
      for (const [arrives, which] of moves) {
        if (arrives) {
          const entered = gate.enter(five)
          if (Either.isRight(entered) !== inside.length < 5) return false
          if (Either.isRight(entered)) inside.push(entered.right)
        } else {
          const [slot] = inside.splice(which % Math.max(1, inside.length), 1)
          slot?.leave("served")
          slot?.leave("served")
        }
      }
      for (const slot of inside) slot.leave("served")
      return Array.from({ length: 5 }, () => gate.enter(five)).every(Either.isRight) && Either.isLeft(gate.enter(five))
    }
  )
})

describe("the breaker", () => {
  const supplier = aCandidate({ breaker: { failures: 3, windowMillis: 10_000, openMillis: 5_000 } })

  it("opens after too many failures and says when to come back, at least a second", () => {
    fail(supplier, 3)
    expect(refusal(supplier)).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 5 })
    now = 4_999
    expect(refusal(supplier)).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 1 })
    expect(notices).toEqual([{ notice: "breaker opened", provider: "supplier" }])
  })

  it("stays closed while requests end without telling anything", () => {
    for (let i = 0; i < 10; i++) enter(supplier).leave("undecided")
    enter(supplier)
  })

  it("lets one request through when its time is up, and closes when that one is served", () => {
    fail(supplier, 3)
    now = 5_000
    const probe = enter(supplier)
    expect(refusal(supplier)._tag).toBe("CircuitOpen")
    probe.leave("served")
    enter(supplier)
    enter(supplier)
    expect(notices.map(({ notice }) => notice)).toEqual(["breaker opened", "breaker closed"])
  })

  it("closes as soon as a probe is answered, however long the answer takes", () => {
    fail(supplier, 3)
    now = 5_000
    const probe = enter(supplier)
    probe.answered()
    enter(supplier).leave("served")
    probe.leave("failed")
    enter(supplier)
  })

  it("opens again when the probe fails", () => {
    fail(supplier, 3)
    now = 5_000
    enter(supplier).leave("failed")
    expect(refusal(supplier)).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 5 })
    now = 10_000
    enter(supplier)
  })

  it("probes again at once when the probe told nothing", () => {
    fail(supplier, 3)
    now = 5_000
    enter(supplier).leave("undecided")
    enter(supplier)
    expect(refusal(supplier)._tag).toBe("CircuitOpen")
  })

  it("is not moved by requests from before it opened", () => {
    const old = [enter(supplier), enter(supplier), enter(supplier)]
    fail(supplier, 3)
    old[0]?.leave("served")
    expect(refusal(supplier)._tag).toBe("CircuitOpen")
    now = 5_000
    enter(supplier)
    old[1]?.leave("served")
    expect(refusal(supplier)._tag).toBe("CircuitOpen")
    old[2]?.leave("undecided")
    expect(refusal(supplier)._tag).toBe("CircuitOpen")
  })

  it("keeps its probe for later when all slots are taken", () => {
    const one = aCandidate({ maxConcurrency: 1, breaker: { failures: 1, windowMillis: 1_000, openMillis: 1_000 } })
    const two = aCandidate({ maxConcurrency: 2, breaker: one.provider.breaker })
    const old = enter(two)
    enter(two).leave("failed")
    now = 1_000
    expect(refusal(one)._tag).toBe("Overloaded")
    old.leave("undecided")
    enter(one)
  })

  it("does not forget failures when the catalog changes", () => {
    fail(supplier, 2)
    fail(aCandidate({ breaker: supplier.provider.breaker }), 1)
    expect(refusal(supplier)._tag).toBe("CircuitOpen")
  })
})

describe("a route that is refused as such", () => {
  const supplier = aCandidate()
  const other: Candidate = { ...supplier, route: aRoute({ upstreamModel: "other" }) }

  it("is off for a while, alone", () => {
    enter(supplier).leave("misconfigured")
    expect(refusal(supplier)._tag).toBe("UpstreamFailed")
    enter(other)
    now = ProviderGate.ROUTE_OFF_MILLIS
    enter(supplier)
  })

  it("is back when the catalog is replaced", () => {
    enter(supplier).leave("misconfigured")
    enter({ provider: supplier.provider, route: { ...supplier.route } })
  })

  it("is told once to the operator, not at every request", () => {
    const slots = [enter(supplier), enter(supplier)]
    for (const slot of slots) slot.leave("misconfigured")
    expect(notices).toEqual([{ notice: "route taken off", provider: "supplier", upstreamModel: "upstream-model" }])
  })

  it("does not open the breaker", () => {
    const routes = Array.from({ length: 10 }, (_, i) => aRoute({ upstreamModel: `model ${i}` }))
    for (const route of routes) enter({ ...supplier, route }).leave("misconfigured")
    enter(other)
  })
})

law(
  "the gate lets somebody in again, whatever happened, once time has passed and all have left",
  [
    FastCheck.array(FastCheck.constantFrom<Verdict>("served", "failed", "misconfigured", "undecided"), {
      maxLength: 40
    })
  ],
  (verdicts) => {
    let time = 0
    const gate = ProviderGate.make({ nowMillis: () => time, onNotice: () => {} })
    const supplier = aCandidate({ maxConcurrency: 3 })
    for (const verdict of verdicts) {
      time += 700
      const entered = gate.enter(supplier)
      if (Either.isRight(entered)) entered.right.leave(verdict)
    }
    time += ProviderGate.ROUTE_OFF_MILLIS
    return Either.isRight(gate.enter(supplier))
  }
)
