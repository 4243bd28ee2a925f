/**
 * Sends webhooks. No two attempts share a connection, because the endpoints belong to different owners.
 *
 * If the host of a public endpoint is a name, each attempt resolves the name once, checks at most 8 of its addresses,
 * and connects only to these addresses. A name server can therefore not pass the check with one address and then return
 * another address for the connection.
 */
import { Resolver, lookup as systemLookup } from "node:dns/promises"
import { isIP, type LookupFunction } from "node:net"
import { type WebhookCall, WebhookSender } from "@tollgate/application/webhook/WebhookDeliveries"
import type { CallResult } from "@tollgate/domain/webhook/WebhookDelivery"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Client } from "undici"
import { safeConnector } from "../connection/SafeConnector.ts"
import { type AllowedTarget, allowedTarget, type PrivateOrigins } from "./AllowedTargets.ts"
import { isPublic } from "./PublicAddresses.ts"
import { signedHeaders } from "./WebhookSignature.ts"

/** Returns the IP addresses of a host name. Fails or returns an empty list if it has none. */
export type Resolve = (host: string) => Promise<ReadonlyArray<string>>

export interface SenderOptions {
  readonly privateOrigins: PrivateOrigins
  /** Default: the name servers for public hosts, and the resolver of the operating system for private origins. */
  readonly resolve?: Resolve
  readonly timeout?: Duration.Duration
}

/** The timeout of an attempt, from the lookup of the host until the end of the read part of the response body. */
const TIMEOUT = Duration.seconds(10)
const MAX_HEADER_BYTES = 16_384
/**
 * The maximum number of bytes of a response body that are read. The body is not used; it is read so that the receiver
 * can finish sending its response.
 */
const MAX_BODY_BYTES = 16_384
const BODY_MILLIS = 1_000
const MAX_ADDRESSES = 8

export const layer = (options: SenderOptions): Layer.Layer<WebhookSender> =>
  Layer.succeed(WebhookSender, { send: (call) => send(call, options) })

const send = (
  call: WebhookCall,
  { privateOrigins, resolve, timeout = TIMEOUT }: SenderOptions
): Effect.Effect<CallResult> =>
  Effect.gen(function* () {
    const timestampSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
    const headers = {
      "content-type": "application/json",
      "user-agent": "tollgate-webhooks",
      ...signedHeaders({ id: call.eventId, timestampSeconds, body: call.body }, call.secrets)
    }
    // The URL is checked for each attempt, because the private origins can have changed since the URL was stored.
    const target = allowedTarget(call.url, privateOrigins)
    if (target === undefined) return failed("target_refused")
    const addresses = yield* addressesOf(target, resolve ?? (target.isPrivate ? resolveLocal : resolvePublic))
    if (!target.isPrivate && !addresses.every(isPublic)) return failed("target_refused")
    const status = yield* post(target, addresses, headers, call.body, timeout)
    return { _tag: "Responded", status } as const
  }).pipe(
    Effect.timeoutTo({ duration: timeout, onSuccess: (result) => result, onTimeout: () => failed("timeout") }),
    Effect.catchAll(() => Effect.succeed(failed("connection_failed")))
  )

const failed = (reason: "timeout" | "connection_failed" | "target_refused"): CallResult => ({
  _tag: "NoResponse",
  reason
})

const addressesOf = ({ address, url }: AllowedTarget, resolve: Resolve) =>
  Effect.tryPromise(async () => {
    if (address !== undefined) return [address]
    const addresses = await resolve(url.hostname)
    if (addresses.length === 0) throw new Error("the host has no address")
    return addresses.slice(0, MAX_ADDRESSES)
  })

/** Returns the status of the response. Closes the connection in every case. */
const post = (
  { url }: AllowedTarget,
  addresses: ReadonlyArray<string>,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeout: Duration.Duration
) =>
  Effect.acquireUseRelease(
    Effect.sync(
      () =>
        new Client(url.origin, {
          connect: safeConnector({ lookup: pinnedTo(addresses), timeout: Duration.toMillis(timeout) }),
          headersTimeout: 0,
          bodyTimeout: 0,
          maxHeaderSize: MAX_HEADER_BYTES
        })
    ),
    (client) =>
      Effect.tryPromise(async (signal) => {
        const path = url.pathname + url.search
        const response = await client.request({ method: "POST", path, headers, body, signal })
        const dumped = response.body.dump({ limit: MAX_BODY_BYTES, signal: AbortSignal.timeout(BODY_MILLIS) })
        await dumped.catch(() => undefined)
        return response.statusCode
      }),
    (client) => Effect.promise(() => client.destroy())
  )

/** Returns a lookup function that returns these addresses for every host name. */
const pinnedTo = (addresses: ReadonlyArray<string>): LookupFunction => {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, { all }, callback) => {
    const [first] = found
    if (all) callback(null, found)
    else callback(null, first?.address ?? "", first?.family ?? 4)
  }
}

/**
 * Sends the query to the name servers directly. A lookup by the operating system would occupy a thread of the small
 * thread pool of Node.js until a name server responds.
 */
const resolvePublic: Resolve = async (host) => {
  const resolver = new Resolver({ timeout: 3_000, tries: 2 })
  const none = (): ReadonlyArray<string> => []
  const [v4, v6] = await Promise.all([resolver.resolve4(host).catch(none), resolver.resolve6(host).catch(none)])
  return [...v4, ...v6]
}

/** A private host can have its name in the hosts file. */
const resolveLocal: Resolve = async (host) => (await systemLookup(host, { all: true })).map(({ address }) => address)
