/**
 * The bare HTTP server: limits on what clients may send and how long they may take, and the socket it listens on.
 */
import * as Http from "node:http"
import * as Net from "node:net"
import { ServeError } from "@effect/platform/HttpServerError"
import * as Effect from "effect/Effect"
import type { GatewayOptions } from "./GatewayOptions.ts"

const MAX_HEADER_BYTES = 16 * 1024
const HEADERS_MILLIS = 15_000
/** Longer than load balancers keep theirs, so that it is never us who close a connection in use. */
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
    // Node's own refusal would carry no request id.
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

/** No new connections; the open ones stay, also the idle ones, so that whoever still asks there gets an answer. */
export const stopListening = (server: Http.Server): void => {
  if (server.listening) Net.Server.prototype.close.call(server)
}
