/**
 * Defines the settings of the public port and their defaults.
 */
export interface GatewayOptions {
  readonly host: string
  /** Port to listen on; 0 selects any free port. */
  readonly port: number
  /** Origin of the web pages that may call the service: one origin, `*` for every origin, or undefined for none. */
  readonly corsAllowOrigin: string | undefined
  /** Seconds without output after which the server sends a comment on a stream to keep the connection open. */
  readonly keepaliveSeconds: number
  /** Seconds that running requests can continue after the server begins to shut down. */
  readonly drainSeconds: number
  /** The part of `drainSeconds` in which the server still serves new requests. */
  readonly drainDelaySeconds: number
  /** Maximum number of open connections. A further connection replaces an idle one, or is closed immediately. */
  readonly maxConnections: number
  /** Maximum seconds for the arrival of a whole request. A slower request is refused. */
  readonly uploadSeconds: number
  /** Seconds after which a client that reads nothing is disconnected. */
  readonly writeStallSeconds: number
  /** Maximum bytes of the body of one request to the relay. */
  readonly bodyBytes: number
  /** Maximum total bytes in memory for the bodies of all requests to the relay. */
  readonly allBodiesBytes: number
  /** Maximum bytes of a provider's response that is not a stream, to a relayed request. */
  readonly responseBytes: number
  /** Maximum total bytes that the unfinished responses and events of one provider reserve. */
  readonly providerBytes: number
  /** Milliseconds between two checks for due keepalive comments and timeouts. */
  readonly tickMillis: number
}

const MIB = 1024 * 1024

export const defaults: Omit<GatewayOptions, "host" | "port"> = {
  corsAllowOrigin: "*",
  keepaliveSeconds: 15,
  drainSeconds: 25,
  drainDelaySeconds: 0,
  maxConnections: 20_000,
  uploadSeconds: 300,
  writeStallSeconds: 60,
  bodyBytes: 32 * MIB,
  allBodiesBytes: 512 * MIB,
  responseBytes: 64 * MIB,
  providerBytes: 256 * MIB,
  tickMillis: 250
}
