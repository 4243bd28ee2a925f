import { ExpiringMap } from "@tollgate/adapters-postgres/client/ExpiringMap"
import { describe, expect, it, vi } from "vitest"

const HOUR = 3_600_000

describe("an expiring map", () => {
  it("returns an entry until the entry reaches the given age", async () => {
    const map = new ExpiringMap<string, number>(10)
    map.set("a", 1)
    expect(map.get("a", HOUR)).toBe(1)
    await vi.waitFor(() => expect(map.get("a", 5)).toBeUndefined(), { interval: 1, timeout: 30_000 })
    // An expired entry is deleted, so a longer age does not return it.
    expect(map.get("a", HOUR)).toBeUndefined()
    expect(map.get("never", HOUR)).toBeUndefined()
  })

  it("deletes the oldest entry beyond its capacity", () => {
    const map = new ExpiringMap<string, number>(2)
    map.set("a", 1)
    map.set("b", 2)
    map.set("a", 3)
    map.set("c", 4)
    expect([map.get("a", HOUR), map.get("b", HOUR), map.get("c", HOUR)]).toEqual([3, undefined, 4])
    expect(map.size).toBe(2)
  })

  it("deletes the entries with a matching value", () => {
    const map = new ExpiringMap<string, number>(10)
    for (const n of [1, 2, 3, 4]) map.set(`${n}`, n)
    map.forget((n) => n % 2 === 0)
    expect([1, 2, 3, 4].filter((n) => map.get(`${n}`, HOUR) !== undefined)).toEqual([1, 3])
    map.clear()
    expect(map.size).toBe(0)
  })
})
