/**
 * Serves the requests of one connection one after the other.
 *
 * A client can send several requests without waiting for the responses (pipelining). Node.js would pass all of them to
 * the server immediately, so one connection could open any number of requests. Here each request waits until the
 * response to the previous request is complete.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** The maximum number of waiting requests of one connection. A connection with more is closed without a response. */
export const MAX_WAITING_REQUESTS = 16

const waitingRequests = new WeakMap<Socket, number>()

/** Returns true if a response to an earlier request of the connection is not complete. */
export const isBehindOthers = (response: ServerResponse): boolean => response.socket === null

/** Calls `serve` when the responses to the earlier requests of the connection are complete. */
export const serveInTurn = (request: IncomingMessage, response: ServerResponse, serve: () => void): void => {
  const { socket } = request
  const waiting = (waitingRequests.get(socket) ?? 0) + 1
  if (waiting > MAX_WAITING_REQUESTS) {
    socket.destroy()
    return
  }
  waitingRequests.set(socket, waiting)
  // Node.js emits this event when it assigns the connection to the next response.
  response.once("socket", () => {
    waitingRequests.set(socket, (waitingRequests.get(socket) ?? 1) - 1)
    // The previous response can have set a write timeout. Node.js removes it only from an idle connection.
    socket.setTimeout(0)
    serve()
  })
}
