/**
 * Keeps connections to upstreams alive, in one pool per origin.
 *
 * A pool has no connection limit, because a full pool queues requests silently. The provider gate limits the
 * concurrent requests instead. A new origin closes the pools that are no longer used.
 */
import { Pool } from "undici"

export interface OriginPools {
  /** Returns the pool of an origin such as `https://api.example.com`. */
  readonly poolOf: (origin: string) => Pool
  /** Closes every connection, including connections with open exchanges. */
  readonly destroy: () => Promise<void>
}

const MAX_POOLS = 64
const UNUSED_MILLIS = 600_000

const CONNECT_TIMEOUT_MILLIS = 10_000
/**
 * The timeout of a connection attempt to one IP address before the next is tried. Node's 250 ms are too short for
 * distant hosts.
 */
const ADDRESS_TIMEOUT_MILLIS = 2_500
/**
 * The idle time before a connection is closed; shorter than that of most servers. An announced keep-alive timeout
 * overrides it.
 */
const IDLE_CONNECTION_MILLIS = 30_000
const MAX_HEADER_BYTES = 32_768

const options: Pool.Options = {
  connections: null,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: IDLE_CONNECTION_MILLIS,
  keepAliveMaxTimeout: IDLE_CONNECTION_MILLIS,
  maxHeaderSize: MAX_HEADER_BYTES,
  allowH2: false,
  connect: {
    timeout: CONNECT_TIMEOUT_MILLIS,
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MILLIS
  }
}

export const make = (nowMillis: () => number): OriginPools => {
  const pools = new Map<string, { readonly pool: Pool; usedAtMillis: number }>()

  const closeUnused = () => {
    const byUse = [...pools].sort(([, a], [, b]) => b.usedAtMillis - a.usedAtMillis)
    byUse.forEach(([origin, { pool, usedAtMillis }], i) => {
      if (i < MAX_POOLS && usedAtMillis > nowMillis() - UNUSED_MILLIS) return
      pools.delete(origin)
      // `close` lets open exchanges finish.
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
