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

const acquire = (candidate: Candidate): ProviderGate.Slot => Either.getOrThrow(gate.acquire(candidate))
const refusal = (candidate: Candidate) => Either.getOrThrow(Either.flip(gate.acquire(candidate)))
const fail = (candidate: Candidate, times: number) => {
  for (let i = 0; i < times; i++) acquire(candidate).release("failed")
}

describe("the slots of a provider", () => {
  const two = aCandidate({ maxConcurrency: 2 })

  it("are refused while all are in use", () => {
    acquire(two)
    acquire(two)
    expect(refusal(two)).toMatchObject({ _tag: "Overloaded", retryAfterSeconds: 1 })
  })

  it("are released once by repeated calls of `release`", () => {
    const slot = acquire(two)
    acquire(two)
    slot.release("served")
    slot.release("served")
    slot.release("failed")
    acquire(two)
    expect(refusal(two)._tag).toBe("Overloaded")
  })

  it("are counted per provider across all routes", () => {
    acquire(two)
    acquire({ ...two, route: aRoute({ upstreamModel: "other" }) })
    expect(refusal(two)._tag).toBe("Overloaded")
    acquire(aCandidate({ name: ProviderName("another"), maxConcurrency: 2 }))
  })

  it("stay in use when the catalog changes", () => {
    acquire(two)
    acquire(two)
    const three = aCandidate({ maxConcurrency: 3 })
    acquire(three)
    expect(refusal(three)._tag).toBe("Overloaded")
    expect(refusal(aCandidate({ maxConcurrency: 1 }))._tag).toBe("Overloaded")
  })

  property(
    "are never in use beyond the limit",
    [FastCheck.array(FastCheck.tuple(FastCheck.boolean(), FastCheck.nat(20)), { maxLength: 80 })],
    (moves) => {
      const gate = newGate()
      const five = aCandidate({ maxConcurrency: 5 })
      const inside: Array<ProviderGate.Slot> = []
      for (const [arrives, which] of moves) {
        if (arrives) {
          const acquired = gate.acquire(five)
          if (Either.isRight(acquired) !== inside.length < 5) return false
          if (Either.isRight(acquired)) inside.push(acquired.right)
        } else {
          const [slot] = inside.splice(which % Math.max(1, inside.length), 1)
          slot?.release("served")
          slot?.release("served")
        }
      }
      for (const slot of inside) slot.release("served")
      return (
        Array.from({ length: 5 }, () => gate.acquire(five)).every(Either.isRight) && Either.isLeft(gate.acquire(five))
      )
    }
  )
})

describe("the circuit breaker", () => {
  const candidate = aCandidate({ breaker: { failures: 3, windowMillis: 10_000, openMillis: 5_000 } })

  it("opens after the configured number of failures", () => {
    fail(candidate, 3)
    expect(refusal(candidate)).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 5 })
    now = 4_999
    expect(refusal(candidate)).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 1 })
    expect(notices).toEqual([{ notice: "circuit breaker opened", provider: "provider" }])
  })

  it("stays closed while requests end with the verdict undecided", () => {
    for (let i = 0; i < 10; i++) acquire(candidate).release("undecided")
    acquire(candidate)
  })

  it("closes when a probe after its open time is served", () => {
    fail(candidate, 3)
    now = 5_000
    const probe = acquire(candidate)
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
    probe.release("served")
    acquire(candidate)
    acquire(candidate)
    expect(notices.map(({ notice }) => notice)).toEqual(["circuit breaker opened", "circuit breaker closed"])
  })

  it("closes when the upstream begins to respond to a probe", () => {
    fail(candidate, 3)
    now = 5_000
    const probe = acquire(candidate)
    probe.served()
    acquire(candidate).release("served")
    probe.release("failed")
    acquire(candidate)
  })

  it("opens again when the probe fails", () => {
    fail(candidate, 3)
    now = 5_000
    acquire(candidate).release("failed")
    expect(refusal(candidate)).toMatchObject({ _tag: "CircuitOpen", retryAfterSeconds: 5 })
    now = 10_000
    acquire(candidate)
  })

  it("admits another probe after a probe with the verdict undecided", () => {
    fail(candidate, 3)
    now = 5_000
    acquire(candidate).release("undecided")
    acquire(candidate)
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
  })

  it("ignores requests that started before it opened", () => {
    const old = [acquire(candidate), acquire(candidate), acquire(candidate)]
    fail(candidate, 3)
    old[0]?.release("served")
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
    now = 5_000
    acquire(candidate)
    old[1]?.release("served")
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
    old[2]?.release("undecided")
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
  })

  it("admits no probe while all slots are in use", () => {
    const one = aCandidate({ maxConcurrency: 1, breaker: { failures: 1, windowMillis: 1_000, openMillis: 1_000 } })
    const two = aCandidate({ maxConcurrency: 2, breaker: one.provider.breaker })
    const old = acquire(two)
    acquire(two).release("failed")
    now = 1_000
    expect(refusal(one)._tag).toBe("Overloaded")
    old.release("undecided")
    acquire(one)
  })

  it("keeps its failure count when the catalog changes", () => {
    fail(candidate, 2)
    fail(aCandidate({ breaker: candidate.provider.breaker }), 1)
    expect(refusal(candidate)._tag).toBe("CircuitOpen")
  })
})

describe("a route whose provider refuses the gateway's account", () => {
  const candidate = aCandidate()
  const other: Candidate = { ...candidate, route: aRoute({ upstreamModel: "other" }) }

  it("is disabled for a minute", () => {
    acquire(candidate).release("misconfigured")
    expect(refusal(candidate)._tag).toBe("UpstreamFailed")
    acquire(other)
    now = 59_999
    expect(refusal(candidate)._tag).toBe("UpstreamFailed")
    now = 60_000
    acquire(candidate)
  })

  it("is enabled again when the catalog is replaced", () => {
    acquire(candidate).release("misconfigured")
    acquire({ provider: candidate.provider, route: { ...candidate.route } })
  })

  it("is logged once", () => {
    const slots = [acquire(candidate), acquire(candidate)]
    for (const slot of slots) slot.release("misconfigured")
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
    for (const route of routes) acquire({ ...candidate, route }).release("misconfigured")
    acquire(other)
  })
})

property(
  "the gate admits a request after any verdicts if enough time has passed",
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
      const acquired = gate.acquire(candidate)
      if (Either.isRight(acquired)) acquired.right.release(verdict)
    }
    time += ProviderGate.ROUTE_DISABLED_MILLIS
    return Either.isRight(gate.acquire(candidate))
  }
)
