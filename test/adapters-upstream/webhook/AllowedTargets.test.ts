import { allowedTarget, layer } from "@tollgate/adapters-upstream/webhook/AllowedTargets"
import { isPublic } from "@tollgate/adapters-upstream/webhook/PublicAddresses"
import { WebhookTargets } from "@tollgate/application/webhook/WebhookEndpoints"
import { Effect, Either } from "effect"
import { describe, expect, it } from "vitest"

const PRIVATE: ReadonlyArray<readonly [string, ...ReadonlyArray<string>]> = [
  ["this network", "0.0.0.0", "0.1.2.3"],
  ["private", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
  ["loopback", "127.0.0.1", "127.255.255.255", "::1"],
  ["link-local and metadata", "169.254.0.1", "169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0"],
  ["carrier-grade NAT and metadata", "100.64.0.1", "100.127.255.255", "100.100.100.200"],
  ["metadata of Azure, Oracle, AWS and Google", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"],
  ["documentation", "192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
  ["benchmarking", "198.18.0.1", "198.19.255.255", "2001:2::1"],
  ["multicast and broadcast", "224.0.0.1", "239.255.255.250", "255.255.255.255", "ff02::1"],
  ["reserved", "240.0.0.1", "192.88.99.1", "192.52.193.1", "4000::1", "::"],
  ["unique local and site-local", "fc00::1", "fd12:3456::1", "fec0::1"],
  ["IPv4-mapped and compatible", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:8.8.8.8", "::127.0.0.1"],
  ["NAT64, 6to4 and Teredo", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:4136:e378::1"],
  ["no address", "", "localhost", "1.2.3", "127.1", "2130706433"]
]

const PUBLIC = ["8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "169.253.0.1"]
const PUBLIC_V6 = ["2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "2001:4860:4860::8888"]

describe("an address", () => {
  it.each(PRIVATE)("is not public: %s", (_, ...addresses) => {
    expect(addresses.filter(isPublic)).toEqual([])
  })

  it.each([...PUBLIC, ...PUBLIC_V6])("is public: %s", (address) => {
    expect(isPublic(address)).toBe(true)
  })
})

describe("the URL of an endpoint", () => {
  const none = new Set<string>()

  it.each([
    "https://hooks.example.com/",
    "https://hooks.example.com:443/a?b=c",
    "https://hooks.example.com:8443/",
    "https://8.8.8.8/",
    "https://[2606:4700:4700::1111]/"
  ])("can be %s", (url) => {
    expect(allowedTarget(url, none)?.isPrivate).toBe(false)
  })

  it.each([
    "http://hooks.example.com/",
    "ftp://hooks.example.com/",
    "file:///etc/passwd",
    "https://user@hooks.example.com/",
    "https://:password@hooks.example.com/",
    "https://hooks.example.com/#fragment",
    "https://hooks.example.com:22/",
    "https://hooks.example.com:80/",
    "https://hooks.example.com:5432/",
    "https://127.0.0.1/",
    "https://127.0.0.1./",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://0/",
    "https://①②⑦.0.0.1/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/",
    "https://[fd00:ec2::254]/",
    "hooks.example.com",
    "https://",
    ""
  ])("cannot be %s", (url) => {
    expect(allowedTarget(url, none)).toBeUndefined()
  })

  it("can have exactly the private origin that the operator named", () => {
    const named = new Set(["http://10.0.0.5:8080", "http://hooks.internal"])
    expect(allowedTarget("http://10.0.0.5:8080/a", named)).toMatchObject({ isPrivate: true, address: "10.0.0.5" })
    expect(allowedTarget("http://hooks.internal/", named)).toMatchObject({ isPrivate: true, address: undefined })
    for (const url of ["https://10.0.0.5:8080/", "http://10.0.0.5/", "http://10.0.0.6:8080/", "https://10.0.0.5/"]) {
      expect(allowedTarget(url, named), url).toBeUndefined()
    }
    expect(allowedTarget("http://user@10.0.0.5:8080/", named)).toBeUndefined()
    expect(allowedTarget("blob:http://10.0.0.5:8080/a", named)).toBeUndefined()
  })

  it("is returned in its normal form", () => {
    const check = (url: string) =>
      Effect.runSync(
        Effect.provide(
          Effect.map(WebhookTargets, (targets) => targets.check(url)),
          layer(none)
        )
      )
    expect(check("HTTPS://Hooks.Example.com:443/a/../b")).toEqual(Either.right("https://hooks.example.com/b"))
    expect(check("https://0x7f.1/")).toMatchObject({ left: { details: [{ path: "url" }] } })
  })
})
