/**
 * How the public port is run.
 */
export interface GatewayOptions {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  /** The neutral name in headers of our own. */
  readonly serviceName: string
  /** Which web pages may call the service: `*`, one origin, or none. */
  readonly corsAllowOrigin: string | undefined
  /** A stream on which nothing was written for so long carries a comment. */
  readonly keepaliveSeconds: number
  /** How long open requests may go on once the server is told to stop. */
  readonly drainSeconds: number
  /** More connections than this are closed as they come. */
  readonly maxConnections: number
  /** A request that has not arrived whole by then is given up. */
  readonly uploadSeconds: number
  /** A client that takes nothing of what is written for so long has left. */
  readonly writeStallSeconds: number
  readonly bodyBytes: number
  /** All request bodies in memory together. */
  readonly allBodiesBytes: number
  /** A whole answer of a supplier. */
  readonly answerBytes: number
  /** How exact keepalives and timeouts are. */
  readonly sweepMillis: number
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
  answerBytes: 64 * MIB,
  sweepMillis: 250
}
