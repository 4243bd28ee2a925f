/**
 * Settings of the public port.
 */
export interface GatewayOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** Part of the header `x-<service>-billing`. */
  readonly serviceName: string
  /** The origin that browsers may call the service from: `*`, one origin, or none. */
  readonly corsAllowOrigin: string | undefined
  /** A stream that is silent for this long gets a comment. */
  readonly keepaliveSeconds: number
  /** How long open requests may continue after the server begins to shut down. */
  readonly drainSeconds: number
  /** Connections above this number are closed at once. */
  readonly maxConnections: number
  /** A request that takes longer to arrive is refused. */
  readonly uploadSeconds: number
  /** A client that reads nothing for this long is disconnected. */
  readonly writeStallSeconds: number
  readonly bodyBytes: number
  /** The limit of all request bodies in memory together. */
  readonly allBodiesBytes: number
  /** The limit of a complete response of a provider. */
  readonly responseBytes: number
  /** The interval at which keepalives and timeouts are checked. */
  readonly tickMillis: number
}

const MIB = 1024 * 1024

export const defaults: Omit<GatewayOptions, "host" | "port"> = {
  serviceName: "tollgate",
  corsAllowOrigin: "*",
  keepaliveSeconds: 15,
  drainSeconds: 25,
  maxConnections: 20_000,
  uploadSeconds: 300,
  writeStallSeconds: 60,
  bodyBytes: 32 * MIB,
  allBodiesBytes: 512 * MIB,
  responseBytes: 64 * MIB,
  tickMillis: 250
}
