/**
 * Kept-alive connections to upstreams: one pool for each origin.
 *
 * A pool has no connection limit, because a full pool queues requests silently. The provider gate limits the requests
 * instead. A new origin closes the pools that are no longer used.
 */
import { Pool } from "undici"

export interface OriginPools {
  /** The pool of an origin such as `https://api.example.com`. */
  readonly poolOf: (origin: string) => Pool
  /** Closes every connection, also those with open exchanges. */
  readonly destroy: () => Promise<void>
}

const MAX_POOLS = 64
const UNUSED_MILLIS = 600_000

const CONNECT_TIMEOUT_MILLIS = 10_000
/** The time for one of several addresses before the next is tried. Node's 250 ms are too short for distant upstreams. */
const ADDRESS_TIMEOUT_MILLIS = 2_500
/** Shorter than the idle timeout of most servers. A timeout that the server announces is used instead. */
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
      // Open exchanges can finish.
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
