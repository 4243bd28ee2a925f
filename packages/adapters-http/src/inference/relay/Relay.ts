/**
 * The relay serves the requests to the inference routes, except the routes for images. It stores the open exchanges,
 * and the ports and settings that all exchanges share.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { Funds } from "@tollgate/application/inference/Funds"
import { type Indexed, IndexedSet } from "@tollgate/application/inference/IndexedSet"
import type { InferenceRequest, Run } from "@tollgate/application/inference/RelayConnection"
import { makeRelayRequest } from "@tollgate/application/inference/RelayRequest"
import { Upstreams } from "@tollgate/application/inference/Upstreams"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { CommonHeaders } from "../../http/CommonHeaders.ts"
import { logDefect } from "../../http/Defects.ts"
import type { InFlightRequests } from "../../http/InFlight.ts"
import { ProviderSecrets } from "../../wire/ProviderSecrets.ts"
import { ProviderMemory } from "./ProviderMemory.ts"
import { type BodyLimits, type ExchangeSettings, RelayExchange, type RelayPorts } from "./RelayExchange.ts"
import { RelayMetrics } from "./RelayMetrics.ts"
import type { RelayProtocol } from "./RelayProtocol.ts"
import * as Ticker from "./Ticker.ts"

/** The ports that the relay needs. */
export type RelayRequirements = RelayPorts | Upstreams

/** A request whose handling is not finished, in any protocol. */
interface OpenExchange {
  readonly start: (onOver: () => void) => void
  readonly close: () => void
  readonly cut: () => void
}

interface Entry extends Indexed {
  readonly exchange: OpenExchange
}

/** A path, and the function that creates an exchange for each request to this path. */
export interface RelayRoute {
  readonly path: string
  readonly open: (
    request: IncomingMessage,
    response: ServerResponse,
    requestId: RequestId,
    settings: ExchangeSettings
  ) => OpenExchange
}

export const relayRoute = <Request extends InferenceRequest>(protocol: RelayProtocol<Request>): RelayRoute => ({
  path: protocol.path,
  open: (request, response, requestId, settings) => new RelayExchange(request, response, requestId, protocol, settings)
})

export interface RelayOptions {
  readonly keepaliveMillis: number
  readonly writeStallMillis: number
  readonly tickMillis: number
  readonly limits: BodyLimits
  readonly responseBytes: number
  readonly providerBytes: number
}

export interface Relay {
  readonly serve: (request: IncomingMessage, response: ServerResponse, requestId: RequestId, route: RelayRoute) => void
  /** Returns the number of requests whose handling is not finished. */
  readonly running: () => number
  /**
   * Ends every running request, except requests whose response is written to its end, and requests without `stream`
   * whose complete response the gateway has received.
   */
  readonly cutAll: () => void
}

export const make = (
  options: RelayOptions,
  headers: CommonHeaders,
  inFlight: InFlightRequests
): Effect.Effect<Relay, never, RelayRequirements | RelayMetrics | Scope.Scope> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<RelayPorts>()
    const runFork = Runtime.runFork(runtime)
    const runCallback = Runtime.runCallback(runtime)
    const run: Run = (effect, onExit) => void runCallback(effect, { onExit })
    const clock = yield* Effect.clock
    const counters = yield* RelayMetrics
    const upstreams = yield* Upstreams
    const open = new IndexedSet<Entry>()
    const settings: ExchangeSettings = {
      ...options,
      authenticator: yield* ApiKeyAuthenticator,
      funds: yield* Funds,
      relayRequest: yield* makeRelayRequest(run),
      run,
      fork: (effect) => runFork(effect),
      headers,
      counters,
      providerMemory: new ProviderMemory(options.providerBytes),
      secrets: new ProviderSecrets((yield* CurrentCatalog).get, upstreams),
      ticker: yield* Ticker.make(options.tickMillis),
      upstreams,
      draining: () => inFlight.draining,
      refusing: () => inFlight.refusing,
      wallMillis: () => clock.unsafeCurrentTimeMillis(),
      warn: (message, details) => runFork(Effect.logWarning(message, details)),
      alarm: (requestId, cause) => runFork(logDefect(requestId, cause))
    }
    return {
      serve: (request, response, requestId, route) => {
        const exchange = route.open(request, response, requestId, settings)
        const entry: Entry = { exchange, index: -1 }
        open.add(entry)
        counters.openRequests += 1
        // Counted twice: until the response is closed, and until the handling has ended.
        inFlight.started()
        inFlight.started()
        response.on("error", ignore)
        response.on("close", () => {
          exchange.close()
          inFlight.ended()
        })
        const onOver = () => {
          open.delete(entry)
          counters.openRequests -= 1
          inFlight.ended()
        }
        // Before the callbacks of the next tick, Node.js parses the part of the body that arrived together with the
        // head. Therefore these callbacks can read a small body without waiting.
        process.nextTick(() => exchange.start(onOver))
      },
      running: () => open.size,
      cutAll: () => open.each(({ exchange }) => exchange.cut())
    }
  })

/** Ignores the error that a response emits after its connection is reset: the `close` event handles this case. */
const ignore = () => {}
