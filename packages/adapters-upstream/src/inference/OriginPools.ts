/**
 * Keeps connections to upstreams open, in one connection pool per origin (scheme, host and port).
 *
 * A pool has no connection limit, because undici would silently queue the requests above a limit. `ProviderGate` limits
 * the concurrent requests instead. When a pool is created for a new origin, the pools that were not used for ten
 * minutes are closed. If more than 64 pools remain, the least recently used ones are closed too.
 */
import type { LookupFunction } from "node:net"
import { Pool } from "undici"
import { makeHostLookup } from "../connection/HostLookup.ts"
import { safeConnector } from "../connection/SafeConnector.ts"

export interface OriginPools {
  /** Returns the pool of an origin such as `https://api.example.com`. */
  readonly poolOf: (origin: string) => Pool
  /** Closes every connection, even a connection on which a response is still being received. */
  readonly destroy: () => Promise<void>
}

const MAX_POOLS = 64
const UNUSED_MILLIS = 600_000

const CONNECT_TIMEOUT_MILLIS = 10_000
/**
 * The timeout of a connection attempt to one IP address. After the timeout, the next IP address is tried. The default
 * of Node.js, of 250 ms, is too short for distant hosts.
 */
const ADDRESS_TIMEOUT_MILLIS = 2_500
/**
 * The idle time in milliseconds after which a connection is closed. Most servers keep idle connections longer. If a
 * server announces a shorter keep-alive timeout, the connection is closed before that timeout ends.
 */
const IDLE_CONNECTION_MILLIS = 30_000
const MAX_HEADER_BYTES = 32_768

const optionsWith = (lookup: LookupFunction): Pool.Options => ({
  connections: null,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: IDLE_CONNECTION_MILLIS,
  keepAliveMaxTimeout: IDLE_CONNECTION_MILLIS,
  maxHeaderSize: MAX_HEADER_BYTES,
  allowH2: false,
  connect: safeConnector({
    timeout: CONNECT_TIMEOUT_MILLIS,
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MILLIS,
    allowH2: false,
    lookup
  })
})

export const make = (nowMillis: () => number): OriginPools => {
  const options = optionsWith(makeHostLookup())
  const pools = new Map<string, { readonly pool: Pool; usedAtMillis: number }>()

  const closeUnused = () => {
    const byUse = [...pools].sort(([, a], [, b]) => b.usedAtMillis - a.usedAtMillis)
    byUse.forEach(([origin, { pool, usedAtMillis }], i) => {
      if (i < MAX_POOLS && usedAtMillis > nowMillis() - UNUSED_MILLIS) return
      pools.delete(origin)
      // `close` waits until the responses on this pool have ended.
      void pool.close()
    })
  }

  return {
    poolOf: (origin) => {
      let entry = pools.get(origin)
      if (entry === undefined) {
        entry = { pool: new Pool(origin, options), usedAtMillis: nowMillis() }
        pools.set(origin, entry)
        closeUnused()
      }
      entry.usedAtMillis = nowMillis()
      return entry.pool
    },
    destroy: async () => {
      const all = [...pools.values()]
      pools.clear()
      await Promise.all(all.map(({ pool }) => pool.destroy()))
    }
  }
}
