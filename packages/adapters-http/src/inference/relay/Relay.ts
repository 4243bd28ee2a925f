/**
 * The relay as a request listener: what is open, and the ports and settings its requests share.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { IndexedSet, type Member } from "@tollgate/application/inference/IndexedSet"
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import { makeRelayRequest } from "@tollgate/application/inference/RelayRequest"
import { Upstreams } from "@tollgate/application/inference/Upstreams"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { CommonHeaders } from "../../http/CommonHeaders.ts"
import type { InFlightRequests } from "../../http/InFlight.ts"
import { type ExchangeSettings, RelayExchange, type RelayPorts } from "./RelayExchange.ts"
import { RelayMetrics } from "./RelayMetrics.ts"
import type { RelayProtocol } from "./RelayProtocol.ts"
import type { BodyLimits } from "./RequestBody.ts"
import * as Sweep from "./Ticker.ts"

/** The ports behind the relay. */
export type RelayRequirements = RelayPorts | Upstreams

/** A request that is being relayed, whatever its protocol. */
interface OpenExchange {
  readonly start: (onOver: () => void) => void
  readonly close: () => void
  readonly cut: () => void
}

interface Entry extends Member {
  readonly exchange: OpenExchange
}

/** A path of ours, and the protocol spoken there. */
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
  readonly sweepMillis: number
  readonly limits: BodyLimits
  readonly answerBytes: number
}

export interface Relay {
  readonly serve: (request: IncomingMessage, response: ServerResponse, requestId: RequestId, route: RelayRoute) => void
  /** Ends every open request that would not end by itself. */
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
    const clock = yield* Effect.clock
    const counters = yield* RelayMetrics
    const open = new IndexedSet<Entry>()
    const settings: ExchangeSettings = {
      ...options,
      relayRequest: yield* makeRelayRequest((effect, onExit) => void runCallback(effect, { onExit })),
      fork: (effect) => runFork(effect),
      headers,
      counters,
      sweep: yield* Sweep.make(options.sweepMillis),
      upstreams: yield* Upstreams,
      draining: () => inFlight.draining,
      wallMillis: () => clock.unsafeCurrentTimeMillis(),
      warn: (message, details) => runFork(Effect.logWarning(message, details)),
      alarm: (requestId, cause) =>
        runFork(Effect.logError("a request failed by a fault of ours", { request_id: requestId }, cause))
    }
    return {
      serve: (request, response, requestId, route) => {
        const exchange = route.open(request, response, requestId, settings)
        const entry: Entry = { exchange, place: -1 }
        open.add(entry)
        counters.openRequests += 1
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
        // Once what came with the head is parsed, so that a small body is there when it is asked for.
        process.nextTick(() => exchange.start(onOver))
      },
      cutAll: () => open.each(({ exchange }) => exchange.cut())
    }
  })

/** A response whose connection broke says so as an error too; its `close` is what counts. */
const ignore = () => {}
