/**
 * Resolves host names. Concurrent lookups of one host name with the same options share one call of the resolver.
 *
 * A call of the operating system's resolver occupies a thread of the small thread pool of Node.js until the lookup
 * ends. If every connection made its own call, the connections to one provider whose name server hangs could occupy all
 * threads. Other host names could then not be resolved.
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
