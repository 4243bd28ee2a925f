import { RequestIds } from "@tollgate/adapters-http/http/RequestIds"
import { describe, expect, it } from "vitest"

describe("request ids", () => {
  it("are UUIDs of version 7 that contain the time", () => {
    const ids = new RequestIds(() => 0x019a9f0e8d3b)
    expect(ids.next()).toMatch(/^019a9f0e-8d3b-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it("made in one millisecond are unique", () => {
    const ids = new RequestIds(() => 1)
    expect(new Set(Array.from({ length: 2_000 }, () => ids.next())).size).toBe(2_000)
  })

  it("of different milliseconds sort in the order of their creation", () => {
    let now = 1_700_000_000_000
    const ids = new RequestIds(() => now++)
    const made = Array.from({ length: 50 }, () => ids.next())
    expect([...made].sort()).toEqual(made)
  })
})
