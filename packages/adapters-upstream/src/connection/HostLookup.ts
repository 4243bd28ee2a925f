/**
 * Resolves host names. Concurrent lookups of one host name with the same options share one call of the resolver.
 *
 * A call occupies one of the four threads of the thread pool of Node.js until the name server responds. If every
 * connection made its own call, the connections to one provider whose name server hangs would occupy all threads, and
 * no other host name could be resolved.
 */
import { lookup as systemLookup } from "node:dns"
import type { LookupFunction } from "node:net"

type Callback = Parameters<LookupFunction>[2]

export const makeHostLookup = (lookup: LookupFunction = systemLookup as LookupFunction): LookupFunction => {
  const waiting = new Map<string, Array<Callback>>()
  return (hostname, options, callback) => {
    const key = JSON.stringify([hostname, options])
    const callbacks = waiting.get(key)
    if (callbacks !== undefined) {
      callbacks.push(callback)
      return
    }
    waiting.set(key, [callback])
    lookup(hostname, options, (...result) => {
      const all = waiting.get(key) ?? []
      waiting.delete(key)
      for (const each of all) each(...result)
    })
  }
}
