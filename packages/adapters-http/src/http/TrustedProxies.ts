/**
 * Finds the client's IP address (docs/reference/reseller.md#b7). The client's address is the peer address of the socket
 * or, if the peer is a trusted proxy, the address that the proxy forwards.
 *
 * Each proxy appends an address on the right of `X-Forwarded-For`. Therefore the header is read from right to left, up
 * to the first address that is not a trusted proxy or the first entry that is not an address. Addresses forged by a
 * client are further left and are not read.
 */
import type { IncomingMessage } from "node:http"
import { BlockList, isIP, SocketAddress } from "node:net"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"

export class TrustedProxies extends Context.Tag("@tollgate/adapters-http/TrustedProxies")<
  TrustedProxies,
  { readonly trusts: (address: string) => boolean }
>() {}

type Service = Context.Tag.Service<TrustedProxies>

/**
 * Parses `TRUSTED_PROXIES`, for example `10.0.0.0/8, 2001:db8::/32, 127.0.0.1`. Returns the first invalid entry as
 * `Left`.
 */
export const parse = (text: string): Either.Either<Service, string> => {
  const list = new BlockList()
  for (const word of text.split(/[\s,]+/).filter((part) => part !== "")) {
    const [address = "", prefix, ...more] = word.split("/")
    const version = isIP(address)
    const bits = version === 4 ? 32 : 128
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : bits + 1
    if (version === 0 || more.length > 0 || length > bits) return Either.left(word)
    list.addSubnet(address, length, version === 4 ? "ipv4" : "ipv6")
  }
  return Either.right({ trusts: (address) => isIP(address) > 0 && list.check(address, familyOf(address)) })
}

export const none: Service = { trusts: () => false }

export const layer = (service: Service): Layer.Layer<TrustedProxies> => Layer.succeed(TrustedProxies, service)

/**
 * Returns the client's address: an IPv4 address or an IPv6 /64 network. Returns `nowhere` if the socket has no peer
 * address, for example because the connection is already closed.
 */
export const clientAddressOf = ({ socket, headers }: IncomingMessage, proxies: Service): ClientAddress => {
  let address = plainAddress(socket.remoteAddress ?? "")
  const forwarded = [headers["x-forwarded-for"] ?? []].flat().join(",").split(",")
  while (address !== undefined && proxies.trusts(address)) {
    const before = plainAddress((forwarded.pop() ?? "").trim())
    if (before === undefined) break
    address = before
  }
  return (address === undefined ? "nowhere" : networkOf(address)) as ClientAddress
}

/** Returns the address of the client that sent the current request. */
export const clientAddress = Effect.gen(function* () {
  const request = NodeHttpServerRequest.toIncomingMessage(yield* HttpServerRequest.HttpServerRequest)
  return clientAddressOf(request, yield* TrustedProxies)
})

const familyOf = (address: string) => (isIP(address) === 4 ? "ipv4" : "ipv6")

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/
/** Matches an address in brackets or with a port after it, because some proxies append the port. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/

/**
 * Returns the canonical short form of an IP address, or undefined if the text is not an IP address. An IPv4 address
 * that is mapped into IPv6 (`::ffff:192.0.2.1`) is returned as IPv4.
 */
const plainAddress = (text: string): string | undefined => {
  const [, bracketed, bare] = WITH_PORT.exec(text) ?? []
  const [address = ""] = (bracketed ?? bare ?? text).split("%")
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : undefined
  const short = new SocketAddress({ address, family: "ipv6" }).address
  return MAPPED.exec(short)?.[1] ?? short
}

const GROUPS = 8
const GROUPS_OF_A_NETWORK = 4

/**
 * Returns an IPv4 address unchanged, and the /64 network of an IPv6 address. One client usually controls a whole /64
 * network, so the network counts as one client.
 */
const networkOf = (address: string): string => {
  if (isIP(address) === 4) return address
  const [head = "", tail] = address.split("::")
  const left = head === "" ? [] : head.split(":")
  const right = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = Array<string>(Math.max(0, GROUPS - left.length - right.length)).fill("0")
  return `${[...left, ...zeros, ...right].slice(0, GROUPS_OF_A_NETWORK).join(":")}::/64`
}
