/**
 * Creates the `node:http` server with its limits on the size of headers, the duration of requests and the number of
 * connections, and opens its listening socket.
 */
import * as Http from "node:http"
import * as Net from "node:net"
import { ServeError } from "@effect/platform/HttpServerError"
import * as Effect from "effect/Effect"
import type { GatewayOptions } from "./GatewayOptions.ts"
import { limitConnections, type OpenConnections } from "./OpenConnections.ts"
import { MAX_HEADERS } from "./RequestHead.ts"

const MAX_HEADER_BYTES = 16 * 1024
const HEADERS_MILLIS = 15_000
/**
 * Milliseconds until the server closes an idle connection. Load balancers usually close idle connections after 60 s.
 * The server waits longer, so that it does not close a connection on which a load balancer is sending a request.
 */
const KEEP_ALIVE_MILLIS = 65_000
/** Milliseconds without data until the operating system checks whether the client is still reachable. */
const TCP_PROBE_MILLIS = 30_000
const BACKLOG = 4_096
/**
 * The bytes that a connection buffers in each direction before Node.js stops reading the request or reports a full
 * buffer to the writer of the response. The default depends on the version: 16 KiB in Node.js 20, then 64 KiB. So this
 * value keeps the memory of slow connections the same in all versions.
 */
const BUFFER_BYTES = 16 * 1024

export interface NodeServer {
  readonly server: Http.Server
  readonly connections: OpenConnections
}

export const create = (options: GatewayOptions): NodeServer => {
  const uploadMillis = options.uploadSeconds * 1000
  const server = Http.createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: Math.min(HEADERS_MILLIS, uploadMillis),
    requestTimeout: uploadMillis,
    connectionsCheckingInterval: Math.min(5_000, uploadMillis),
    keepAliveTimeout: KEEP_ALIVE_MILLIS,
    highWaterMark: BUFFER_BYTES,
    noDelay: true,
    // TCP probes find clients that vanished without closing their connection.
    keepAlive: true,
    keepAliveInitialDelay: TCP_PROBE_MILLIS,
    // `RequestHead.ts` checks the Host header instead, because the error response of Node.js has no request id.
    requireHostHeader: false
  })
  // Node.js silently drops headers above this number. `RequestHead.ts` refuses a request with more than `MAX_HEADERS`.
  server.maxHeadersCount = MAX_HEADERS + 1
  return { server, connections: limitConnections(server, options.maxConnections) }
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

/**
 * Refuses new connections. Existing connections, idle ones too, stay open, so that their requests get a response.
 *
 * When the listening socket closes, the operating system resets connections that the server has not accepted. The event
 * loop accepts all waiting connections before it runs `setImmediate` callbacks. Therefore the listening socket is
 * closed in such a callback: few connections can be waiting then.
 */
export const stopListening = (server: Http.Server): Effect.Effect<void> =>
  Effect.async((resume) => {
    setImmediate(() => {
      if (server.listening) Net.Server.prototype.close.call(server)
      resume(Effect.void)
    })
  })
