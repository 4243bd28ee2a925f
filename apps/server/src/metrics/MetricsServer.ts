/**
 * Serves metrics as Prometheus text, on a port that is separate from the public port.
 *
 * The metrics name models and providers, and contain the revenue. Therefore the port listens on loopback by default,
 * and METRICS_TOKEN can protect it.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { isLoopback } from "@tollgate/composition/DeploymentVariables"
import type { ServerConfig } from "@tollgate/composition/ServerConfig"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"

/** A source of metrics as text: the registry of this node, or the sums over several nodes. */
export interface MetricsSource {
  readonly contentType: string
  readonly metrics: () => Promise<string>
}

export type MetricsSettings = Pick<ServerConfig, "METRICS_HOST" | "METRICS_PORT" | "METRICS_TOKEN">

/** The maximum number of open connections. A scraper needs one. */
const MAX_CONNECTIONS = 32
const REQUEST_TIMEOUT_MILLIS = 10_000

/** Serves metrics. If the address cannot be used, the process logs a warning and runs without metrics. */
export const serve = (source: MetricsSource, settings: MetricsSettings): Effect.Effect<void, never, Scope.Scope> => {
  const { METRICS_HOST: host, METRICS_PORT: port, METRICS_TOKEN: token } = settings
  const page = shared(() => source.metrics())
  const isAllowed = allows(token)
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MILLIS }, (request, response) => {
    respond(request, response, { contentType: source.contentType, page, isAllowed }).catch(() => response.destroy())
  })
  server.maxConnections = MAX_CONNECTIONS
  const listen = Effect.async<void>((resume) => {
    server.once("error", ({ code }: NodeJS.ErrnoException) =>
      resume(
        Effect.logWarning(`metrics are off: ${host}:${port} cannot be used (${code}); set METRICS_HOST or METRICS_PORT`)
      )
    )
    server.listen(port, host, () => resume(Effect.void))
  })
  const warning =
    isLoopback(host) || token !== undefined
      ? Effect.void
      : Effect.logWarning("other machines can read the metrics; set METRICS_TOKEN, or restrict access to METRICS_PORT")
  return Effect.acquireRelease(Effect.zipRight(warning, listen), () =>
    Effect.async<void>((resume) => {
      server.closeAllConnections()
      server.close(() => resume(Effect.void))
    })
  )
}

/** Shares one page between concurrent readers, so that many readers need no more processor time than one. */
const shared = (write: () => Promise<string>): (() => Promise<string>) => {
  let writing: Promise<string> | undefined
  return () => {
    writing ??= write().finally(() => {
      writing = undefined
    })
    return writing
  }
}

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest()

/**
 * Returns a function that compares an `authorization` header with the token, in constant time. Without a token, it
 * accepts every request.
 */
const allows = (token: MetricsSettings["METRICS_TOKEN"]): ((header: string | undefined) => boolean) => {
  if (token === undefined) return () => true
  const expected = digestOf(Redacted.value(token))
  return (header) => {
    const [, presented] = /^Bearer +(\S+) *$/i.exec(header ?? "") ?? []
    return presented !== undefined && timingSafeEqual(digestOf(presented), expected)
  }
}

interface Page {
  readonly contentType: string
  readonly page: () => Promise<string>
  readonly isAllowed: (header: string | undefined) => boolean
}

const respond = async (
  { headers, method, url }: IncomingMessage,
  response: ServerResponse,
  { contentType, isAllowed, page }: Page
): Promise<void> => {
  if (!isAllowed(headers.authorization)) {
    response.writeHead(401, { "www-authenticate": "Bearer" }).end()
    return
  }
  const found = method === "GET" && url === "/metrics"
  const text = found ? await page() : ""
  response.writeHead(found ? 200 : 404, { "content-type": contentType }).end(text)
}
