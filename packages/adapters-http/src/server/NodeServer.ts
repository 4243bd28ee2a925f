/**
 * The `node:http` server: limits on size and time of requests, and the listening socket.
 */
import * as Http from "node:http"
import * as Net from "node:net"
import { ServeError } from "@effect/platform/HttpServerError"
import * as Effect from "effect/Effect"
import type { GatewayOptions } from "./GatewayOptions.ts"

const MAX_HEADER_BYTES = 16 * 1024
const HEADERS_MILLIS = 15_000
/** Longer than the idle timeout of load balancers, so that the server never closes a connection that they reuse. */
const KEEP_ALIVE_MILLIS = 65_000
const BACKLOG = 4_096

export const create = (options: GatewayOptions): Http.Server => {
  const uploadMillis = options.uploadSeconds * 1000
  const server = Http.createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: Math.min(HEADERS_MILLIS, uploadMillis),
    requestTimeout: uploadMillis,
    connectionsCheckingInterval: Math.min(5_000, uploadMillis),
    keepAliveTimeout: KEEP_ALIVE_MILLIS,
    noDelay: true,
    // Checked in `GatewayServer` instead, because Node's own response has no request id.
    requireHostHeader: false
  })
  server.maxConnections = options.maxConnections
  return server
}

export const listen = (server: Http.Server, options: GatewayOptions): Effect.Effect<Net.AddressInfo, ServeError> =>
  Effect.async((resume) => {
    const onError = (cause: Error) => resume(Effect.fail(new ServeError({ cause })))
    server.once("error", onError)
    server.listen({ host: options.host, port: options.port, backlog: BACKLOG }, () => {
      server.off("error", onError)
      resume(Effect.succeed(server.address() as Net.AddressInfo))
    })
  })

/** Accepts no new connections. Open ones stay, including idle ones, so that requests on them still get a response. */
export const stopListening = (server: Http.Server): void => {
  if (server.listening) Net.Server.prototype.close.call(server)
}
