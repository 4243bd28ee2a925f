/**
 * Decides whether an IP address is public. Except for the private origins that the operator names, webhooks are sent
 * only to public addresses. Resellers choose the URLs of their endpoints, and must not reach the private network of the
 * deployment (docs/reference/webhooks.md#wh4).
 *
 * The lists contain the ranges that the IANA registers for special purposes, and some further ranges, such as IPv4
 * multicast. A public IPv6 address must also be in 2000::/3, so the IPv6 list contains only ranges inside it.
 * IPv4-mapped addresses, the NAT64 prefixes of the IANA, and unique local, link-local and multicast addresses are
 * outside it.
 */
import { BlockList, isIP } from "node:net"

const SPECIAL_V4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  // Carrier-grade NAT; also the metadata service of Alibaba Cloud.
  "100.64.0.0/10",
  "127.0.0.0/8",
  // Link-local; also the metadata services of most clouds.
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // The metadata and DNS service of Azure, at an address that is registered as public.
  "168.63.129.16/32"
]

const SPECIAL_V6 = [
  // Contains Teredo, benchmarking and ORCHID.
  "2001::/23",
  "2001:db8::/32",
  // 6to4, which contains IPv4 addresses.
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20"
]

const listOf = (subnets: ReadonlyArray<string>, family: "ipv4" | "ipv6"): BlockList => {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [address = "", bits = ""] = subnet.split("/")
    list.addSubnet(address, Number(bits), family)
  }
  return list
}

const specialV4 = listOf(SPECIAL_V4, "ipv4")
const specialV6 = listOf(SPECIAL_V6, "ipv6")
const assignedV6 = listOf(["2000::/3"], "ipv6")

/** Returns whether an IP address in its usual text form is public. Returns false for any other text. */
export const isPublic = (address: string): boolean => {
  if (address.includes("%")) return false
  switch (isIP(address)) {
    case 4:
      return !specialV4.check(address, "ipv4")
    case 6:
      return assignedV6.check(address, "ipv6") && !specialV6.check(address, "ipv6")
    default:
      return false
  }
}
