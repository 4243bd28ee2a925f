/**
 * Limits the number of open connections. When the limit is reached, connections without a request in progress are
 * closed, the oldest first, so that idle clients cannot lock out other clients. Also closes connections at shutdown.
 */
import type { Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/**
 * In `_httpMessage`, Node.js stores the response that belongs to the current request, even while this request is still
 * being received.
 */
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null }

export interface OpenConnections {
  /** Makes each response whose head is not written yet the last response on its connection. */
  readonly closeAfterResponses: () => void
  /** Closes the connections that have received bytes and have no request in progress. */
  readonly closeUsed: () => void
}

/** A search closes up to `maxConnections` / 100 idle connections. Therefore most new connections need no search. */
const CLOSED_SHARE = 100
/** The time in milliseconds after a search without a result until the next search. */
const SEARCH_MILLIS = 100

export const limitConnections = (server: Server, maxConnections: number): OpenConnections => {
  const open = new Set<HttpSocket>()
  let searchAtMillis = 0

  /**
   * Closes idle connections. Returns false if no connection is idle, or if a search within the last {@link
   * SEARCH_MILLIS} found none.
   */
  const closeIdle = (): boolean => {
    const nowMillis = performance.now()
    if (nowMillis < searchAtMillis) return false
    let remaining = Math.ceil(maxConnections / CLOSED_SHARE)
    for (const socket of open) {
      if (socket._httpMessage) continue
      open.delete(socket)
      socket.destroy()
      remaining -= 1
      if (remaining === 0) return true
    }
    if (open.size < maxConnections) return true
    searchAtMillis = nowMillis + SEARCH_MILLIS
    return false
  }

  server.on("connection", (socket: HttpSocket) => {
    if (open.size >= maxConnections && !closeIdle()) {
      socket.destroy()
      return
    }
    open.add(socket)
    socket.once("close", () => open.delete(socket))
  })

  return {
    closeAfterResponses: () => {
      for (const { _httpMessage: response } of open)
        if (response && !response.headersSent) response.shouldKeepAlive = false
    },
    closeUsed: () => {
      for (const socket of open) if (!socket._httpMessage && socket.bytesRead > 0) socket.end()
    }
  }
}
