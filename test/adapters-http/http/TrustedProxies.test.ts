import type { IncomingMessage } from "node:http"
import * as TrustedProxies from "@tollgate/adapters-http/http/TrustedProxies"
import { Either } from "effect"
import { describe, expect, it } from "vitest"

const proxies = Either.getOrThrow(TrustedProxies.parse("10.0.0.0/8, 192.168.1.1 fd00::/8"))

const from = (peer: string | undefined, forwarded?: string, trusted = proxies) =>
  TrustedProxies.clientAddressOf(
    { socket: { remoteAddress: peer }, headers: { "x-forwarded-for": forwarded } } as unknown as IncomingMessage,
    trusted
  )

describe("the client address", () => {
  it("is the peer address of the socket", () => {
    expect(from("203.0.113.7")).toBe("203.0.113.7")
  })

  it("is not read from the header of an untrusted peer", () => {
    expect(from("203.0.113.7", "198.51.100.1")).toBe("203.0.113.7")
    expect(from("127.0.0.1", "198.51.100.1", TrustedProxies.none)).toBe("127.0.0.1")
  })

  it("is the address that a trusted proxy forwards", () => {
    expect(from("10.1.2.3", "198.51.100.1")).toBe("198.51.100.1")
    expect(from("192.168.1.1", "198.51.100.1")).toBe("198.51.100.1")
    expect(from("192.168.1.2", "198.51.100.1")).toBe("192.168.1.2")
  })

  it("is the first untrusted address from the right", () => {
    expect(from("10.1.2.3", "1.1.1.1, 8.8.8.8, 198.51.100.1")).toBe("198.51.100.1")
    expect(from("10.1.2.3", "1.1.1.1, 198.51.100.1, 10.9.9.9")).toBe("198.51.100.1")
    expect(from("10.1.2.3", "10.7.7.7, 198.51.100.1, 10.9.9.9, 10.8.8.8")).toBe("198.51.100.1")
  })

  it("is the proxy itself if the forwarded entry is missing or malformed", () => {
    expect(from("10.1.2.3")).toBe("10.1.2.3")
    expect(from("10.1.2.3", "unknown, 10.4.5.6")).toBe("10.4.5.6")
    expect(from("10.1.2.3", "' OR 1=1 --")).toBe("10.1.2.3")
  })

  it("has one canonical form", () => {
    expect(from("::ffff:10.1.2.3", "198.51.100.1:4711")).toBe("198.51.100.1")
    expect(from("10.1.2.3", "::ffff:198.51.100.1")).toBe("198.51.100.1")
    expect(from("::ffff:c633:6401")).toBe("198.51.100.1")
  })

  it("is the /64 network of an IPv6 address", () => {
    expect(from("2001:db8:1:2:aaaa::1")).toBe("2001:db8:1:2::/64")
    expect(from("2001:0DB8:0001:0002:bbbb::2")).toBe("2001:db8:1:2::/64")
    expect(from("2001:db8::1")).toBe("2001:db8:0:0::/64")
    expect(from("::1")).toBe("0:0:0:0::/64")
    expect(from("fe80::1%eth0")).toBe("fe80:0:0:0::/64")
    expect(from("fd12::1", "[2001:db8:1:2::9]:443")).toBe("2001:db8:1:2::/64")
  })

  it("is `nowhere` if the connection is already closed", () => {
    expect(from(undefined)).toBe("nowhere")
  })
})

describe("the list of trusted proxies", () => {
  it("trusts no address if it is empty", () => {
    const { trusts } = Either.getOrThrow(TrustedProxies.parse(" , "))
    expect(trusts("127.0.0.1")).toBe(false)
  })

  it.each(["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "fd00::/129", "proxy.internal", "10.0.0", "10.0.0.0/-1", "/8"])(
    "is rejected because of the entry %s",
    (word) => {
      expect(TrustedProxies.parse(`127.0.0.1, ${word}`)).toEqual(Either.left(word))
    }
  )
})
