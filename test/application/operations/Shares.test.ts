import { Shares, withinShare } from "@tollgate/application/operations/Shares"
import { Effect, FastCheck, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

/** Takes units until one is refused, and returns how many the party holds. */
const takeAll = (shares: Shares<string>, party: string): number => {
  while (shares.take(party)) {}
  return shares.heldBy(party)
}

describe("the share of a party", () => {
  it("is half of what the earlier parties left free", () => {
    const shares = new Shares<string>(64)
    expect(takeAll(shares, "one")).toBe(32)
    expect(takeAll(shares, "two")).toBe(16)
    expect(takeAll(shares, "three")).toBe(8)
    expect(takeAll(shares, "four")).toBe(4)
  })

  it("grows when another party releases units", () => {
    const shares = new Shares<string>(4)
    expect(takeAll(shares, "one")).toBe(2)
    expect(takeAll(shares, "two")).toBe(1)
    shares.release("one")
    expect(takeAll(shares, "two")).toBe(2)
  })

  property(
    "grows to at most half of what others left free, rounded up",
    [FastCheck.integer({ min: 1, max: 40 }), FastCheck.array(FastCheck.tuple(FastCheck.nat(4), FastCheck.boolean()))],
    (limit, steps) => {
      const shares = new Shares<number>(limit)
      const parties = [0, 1, 2, 3, 4]
      const total = () => parties.reduce((sum, party) => sum + shares.heldBy(party), 0)
      return steps.every(([party, takes]) => {
        const others = total() - shares.heldBy(party)
        if (!takes && shares.heldBy(party) > 0) shares.release(party)
        if (takes && shares.take(party) && shares.heldBy(party) > Math.ceil((limit - others) / 2)) return false
        return total() <= limit
      })
    }
  )

  it("is released when the work of the party fails or is interrupted", async () => {
    const shares = new Shares<string>(2)
    const within = <A, E>(work: Effect.Effect<A, E>) => withinShare(shares, "one", work, Effect.succeed("full"))
    await Effect.runPromise(Effect.flip(within(Effect.fail("failed"))))
    expect(shares.heldBy("one")).toBe(0)
    const waiting = Effect.runFork(within(Effect.never))
    await new Promise(setImmediate)
    expect(await Effect.runPromise(within(Effect.succeed("worked")))).toBe("full")
    await Effect.runPromise(Fiber.interrupt(waiting))
    expect(await Effect.runPromise(within(Effect.succeed("worked")))).toBe("worked")
  })
})
