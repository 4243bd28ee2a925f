import * as OriginPools from "@tollgate/adapters-upstream/inference/OriginPools"
import { afterEach, describe, expect, it } from "vitest"

let now = 0
const pools = OriginPools.make(() => now)
afterEach(async () => {
  now = 0
  await pools.destroy()
})

const origin = (n: number) => `http://127.0.0.1:${1_000 + n}`

describe("the connection pools", () => {
  it("are separate for each origin", () => {
    expect(pools.poolOf(origin(1))).toBe(pools.poolOf(origin(1)))
    expect(pools.poolOf(origin(1))).not.toBe(pools.poolOf(origin(2)))
  })

  it("are closed after ten minutes without use", () => {
    const old = pools.poolOf(origin(1))
    now = 400_000
    const used = pools.poolOf(origin(2))
    now = 700_000
    pools.poolOf(origin(3))
    expect(old.closed).toBe(true)
    expect(used.closed).toBe(false)
    expect(pools.poolOf(origin(1))).not.toBe(old)
  })

  it("are at most 64", () => {
    const all = Array.from({ length: 100 }, (_, i) => {
      now = i
      return pools.poolOf(origin(i))
    })
    expect(all.map((pool) => pool.closed)).toEqual(all.map((_, i) => i < 36))
  })
})
