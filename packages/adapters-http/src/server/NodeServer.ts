/**
 * Creates the `node:http` server with its limits on the size and duration of requests, and opens its listening socket.
 */
import * as Http from "node:http"
import * as Net from "node:net"
import { ServeError } from "@effect/platform/HttpServerError"
import * as Effect from "effect/Effect"
import type { GatewayOptions } from "./GatewayOptions.ts"

const MAX_HEADER_BYTES = 16 * 1024
const HEADERS_MILLIS = 15_000
/**
 * Milliseconds until an idle connection is closed: longer than the usual idle timeout of load balancers (60 s), so that
 * the server never closes a connection that a load balancer reuses.
 */
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
    // `GatewayServer` checks the header instead, because Node's own response has no request id.
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

/** Refuses new connections. Open and idle connections stay open, so that requests on them still get a response. */
export const stopListening = (server: Http.Server): void => {
  if (server.listening) Net.Server.prototype.close.call(server)
}
