import * as ProviderGate from "@tollgate/adapters-upstream/inference/ProviderGate"
import type { Verdict } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { ProviderName } from "@tollgate/domain/catalog/Provider"
import { Either, FastCheck } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"
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

describe("the slots of a provider", () => {
  const two = aCandidate({ maxConcurrency: 2 })

  it("are refused with a Retry-After time when all are in use", () => {
    enter(two)
    enter(two)
    expect(refusal(two)).toMatchObject({ _tag: "Overloaded", retryAfterSeconds: 1 })
  })

  it("are released only once by repeated calls of `leave`", () => {
    const slot = enter(two)
    enter(two)
    slot.leave("served")
    slot.leave("served")
    slot.leave("failed")
    enter(two)
    expect(refusal(two)._tag).toBe("Overloaded")
  })

  it("are counted per provider across all routes", () => {
    enter(two)
    enter({ ...two, route: aRoute({ upstreamModel: "other" }) })
    expect(refusal(two)._tag).toBe("Overloaded")
    enter(aCandidate({ name: ProviderName("another"), maxConcurrency: 2 }))
  })

  it("stay in use when the catalog changes, and the new limit applies immediately", () => {
    enter(two)
    enter(two)
    const three = aCandidate({ maxConcurrency: 3 })
    enter(three)
    expect(refusal(three)._tag).toBe("Overloaded")
    expect(refusal(aCandidate({ maxConcurrency: 1 }))._tag).toBe("Overloaded")
  })

  property(
    "are never in use beyond the limit, and are all available again after their release",
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

describe("the circuit breaker", () => {
  const candidate = aCandidate({ breaker: { failures: 3, windowMillis: 10_000, openMillis: 5_000 } })

  it("opens after too many failures, with a Retry-After time of at least one second", () => {
    fail(candidate, 3)
    expect(refusal(candidate)).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 5 })
    now = 4_999
    expect(refusal(candidate)).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 1 })
    expect(notices).toEqual([{ notice: "circuit breaker opened", provider: "provider" }])
  })

  it("stays closed while requests end with the verdict undecided", () => {
    for (let i = 0; i < 10; i++) enter(candidate).leave("undecided")
    enter(candidate)
  })

  it("admits one probe after its open time, and closes when the probe is served", () => {
    fail(candidate, 3)
    now = 5_000
    const probe = enter(candidate)
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
    probe.leave("served")
    enter(candidate)
    enter(candidate)
    expect(notices.map(({ notice }) => notice)).toEqual(["circuit breaker opened", "circuit breaker closed"])
  })

  it("closes when the upstream begins to respond to a probe", () => {
    fail(candidate, 3)
    now = 5_000
    const probe = enter(candidate)
    probe.served()
    enter(candidate).leave("served")
    probe.leave("failed")
    enter(candidate)
  })

  it("opens again when the probe fails", () => {
    fail(candidate, 3)
    now = 5_000
    enter(candidate).leave("failed")
    expect(refusal(candidate)).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 5 })
    now = 10_000
    enter(candidate)
  })

  it("admits another probe immediately when a probe ends with the verdict undecided", () => {
    fail(candidate, 3)
    now = 5_000
    enter(candidate).leave("undecided")
    enter(candidate)
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
  })

  it("ignores requests that started before it opened", () => {
    const old = [enter(candidate), enter(candidate), enter(candidate)]
    fail(candidate, 3)
    old[0]?.leave("served")
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
    now = 5_000
    enter(candidate)
    old[1]?.leave("served")
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
    old[2]?.leave("undecided")
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
  })

  it("admits no probe while all slots are in use, and one probe when a slot is free", () => {
    const one = aCandidate({ maxConcurrency: 1, breaker: { failures: 1, windowMillis: 1_000, openMillis: 1_000 } })
    const two = aCandidate({ maxConcurrency: 2, breaker: one.provider.breaker })
    const old = enter(two)
    enter(two).leave("failed")
    now = 1_000
    expect(refusal(one)._tag).toBe("Overloaded")
    old.leave("undecided")
    enter(one)
  })

  it("keeps its failure count when the catalog changes", () => {
    fail(candidate, 2)
    fail(aCandidate({ breaker: candidate.provider.breaker }), 1)
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
  })
})

describe("a route on which the provider refuses the gateway's account", () => {
  const candidate = aCandidate()
  const other: Candidate = { ...candidate, route: aRoute({ upstreamModel: "other" }) }

  it("is disabled for a minute while other routes stay enabled", () => {
    enter(candidate).leave("misconfigured")
    expect(refusal(candidate)._tag).toBe("UpstreamFailed")
    enter(other)
    now = 59_999
    expect(refusal(candidate)._tag).toBe("UpstreamFailed")
    now = 60_000
    enter(candidate)
  })

  it("is enabled again when the catalog is replaced", () => {
    enter(candidate).leave("misconfigured")
    enter({ provider: candidate.provider, route: { ...candidate.route } })
  })

  it("is logged once, not at every request", () => {
    const slots = [enter(candidate), enter(candidate)]
    for (const slot of slots) slot.leave("misconfigured")
    expect(notices).toEqual([
      {
        notice: "route disabled for a minute, because the provider refuses the API key or the account",
        provider: "provider",
        upstreamModel: "upstream-model"
      }
    ])
  })

  it("does not open the circuit breaker", () => {
    const routes = Array.from({ length: 10 }, (_, i) => aRoute({ upstreamModel: `model ${i}` }))
    for (const route of routes) enter({ ...candidate, route }).leave("misconfigured")
    enter(other)
  })
})

property(
  "the gate admits a request after any sequence of verdicts if enough time has passed and all slots are free",
  [
    FastCheck.array(FastCheck.constantFrom<Verdict>("served", "failed", "misconfigured", "undecided"), {
      maxLength: 40
    })
  ],
  (verdicts) => {
    let time = 0
    const gate = ProviderGate.make({ nowMillis: () => time, onNotice: () => {} })
    const candidate = aCandidate({ maxConcurrency: 3 })
    for (const verdict of verdicts) {
      time += 700
      const entered = gate.enter(candidate)
      if (Either.isRight(entered)) entered.right.leave(verdict)
    }
    time += ProviderGate.ROUTE_OFF_MILLIS
    return Either.isRight(gate.enter(candidate))
  }
)
