/**
 * Resolves host names, with one lookup at a time for each host name.
 *
 * A lookup occupies one of the four threads of the thread pool of Node.js until the name server responds. Without this
 * limit, the connections to one provider whose name server hangs would occupy every thread, and then no other host name
 * is resolved and no password is hashed.
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
