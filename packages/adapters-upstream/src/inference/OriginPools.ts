/**
 * Connections to suppliers, kept open between requests: one pool an origin.
 *
 * A pool sets no limit of connections, because one that is full queues requests silently; the gate limits how many
 * are sent. Pools of origins nobody asks for any more are closed when a new origin comes.
 */
import { Pool } from "undici"

export interface OriginPools {
  /** The pool of an origin such as `https://api.example.com`. */
  readonly poolOf: (origin: string) => Pool
  /** Breaks every connection, running exchanges too. */
  readonly destroy: () => Promise<void>
}

const POOLS_AT_MOST = 64
const UNUSED_MILLIS = 600_000

const CONNECT_TIMEOUT_MILLIS = 10_000
/** One address of several gets this long before the next is tried; Node's 250 ms is too short for far suppliers. */
const ADDRESS_TIMEOUT_MILLIS = 2_500
/** Shorter than servers usually keep an idle connection; a server that says how long it does is believed. */
const IDLE_CONNECTION_MILLIS = 30_000
const HEADERS_BYTES_AT_MOST = 32_768

const options: Pool.Options = {
  connections: null,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: IDLE_CONNECTION_MILLIS,
  keepAliveMaxTimeout: IDLE_CONNECTION_MILLIS,
  maxHeaderSize: HEADERS_BYTES_AT_MOST,
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
      if (i < POOLS_AT_MOST && usedAtMillis > nowMillis() - UNUSED_MILLIS) return
      pools.delete(origin)
      // Lets running exchanges finish.
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
