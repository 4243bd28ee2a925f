import type { LookupFunction } from "node:net"
import { makeHostLookup } from "@tollgate/adapters-upstream/connection/HostLookup"
import { describe, expect, it } from "vitest"

describe("the lookup of a host name", () => {
  it("runs once for concurrent connections to one host", () => {
    const lookups: Array<string> = []
    const pending: Array<() => void> = []
    const system: LookupFunction = (hostname, _, callback) => {
      lookups.push(hostname)
      pending.push(() => callback(null, `address of ${hostname}`, 4))
    }
    const lookup = makeHostLookup(system)
    const found: Array<unknown> = []
    const connect = (hostname: string, family = 0) =>
      lookup(hostname, { family }, (error, address) => found.push(error ?? address))

    connect("hangs.example")
    connect("hangs.example")
    connect("works.example")
    connect("hangs.example", 6)
    expect(lookups).toEqual(["hangs.example", "works.example", "hangs.example"])
    pending[1]?.()
    expect(found).toEqual(["address of works.example"])
    pending[0]?.()
    expect(found).toEqual(["address of works.example", "address of hangs.example", "address of hangs.example"])
    connect("hangs.example")
    expect(lookups).toHaveLength(4)
  })
})
