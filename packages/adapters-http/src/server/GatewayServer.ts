/**
 * Runs the HTTP server of the public port. The server passes the `POST` requests of the text and embedding protocols to
 * the relay, and other requests to the HttpApi. The server itself refuses requests with an invalid head, and responds
 * to CORS preflight requests if an origin is allowed. When the delay of the drain (the shutdown) is over, the server
 * also refuses all requests except probes. Every response has the headers of `CommonHeaders.ts`. `RequestStarts`
 * decides when a request to the HttpApi, except a probe, starts. `Drain.ts` describes the shutdown.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type * as HttpApi from "@effect/platform/HttpApi"
import type * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpRouter from "@effect/platform/HttpRouter"
import type { ServeError } from "@effect/platform/HttpServerError"
import type { PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { CommonHeaders, respondToPreflight } from "../http/CommonHeaders.ts"
import { refuseConnection, respondToConnectionError } from "../http/ConnectionErrors.ts"
import { logDefect } from "../http/Defects.ts"
import { InFlight } from "../http/InFlight.ts"
import { ANY_LENGTH, writeRefusal } from "../http/Refusal.ts"
import { RequestIds } from "../http/RequestIds.ts"
import { MAX_BODY_BYTES } from "../http/SmallBodies.ts"
import {
  drainingError,
  overloadedError,
  pathOf,
  routerTarget,
  type SurfaceError,
  surfaceErrorBody
} from "../http/SurfaceError.ts"
import { clientAddressOf, TrustedProxies } from "../http/TrustedProxies.ts"
import { expectContinue, limitDiscarding } from "../http/UnreadBody.ts"
import { relayRoutes } from "../inference/RelayRoutes.ts"
import * as Relay from "../inference/relay/Relay.ts"
import type { RelayMetrics } from "../inference/relay/RelayMetrics.ts"
import * as HashingRefusals from "../reseller/HashingRefusals.ts"
import type { WireErrorBody } from "../wire/InferenceErrors.ts"
import * as ApiListener from "./ApiListener.ts"
import { drain } from "./Drain.ts"
import type { GatewayOptions } from "./GatewayOptions.ts"
import * as NodeServer from "./NodeServer.ts"
import { isBehindOthers, serveInTurn } from "./Pipelining.ts"
import { headError, originForm } from "./RequestHead.ts"
import { type Party, RequestStarts } from "./RequestStarts.ts"

export class GatewayServer extends Context.Tag("@tollgate/adapters-http/GatewayServer")<
  GatewayServer,
  { readonly host: string; readonly port: number }
>() {}

/** Paths that are served until the end of the drain, because load balancers read the server's state there. */
const PROBES: ReadonlySet<string> = new Set(["/healthz", "/readyz"])

/**
 * The number of characters at the end of an API key or token that identify a party. These characters contain the random
 * part of the key, or the signature of the token.
 */
const PARTY_NAME_LENGTH = 128

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
const noProxy: SurfaceError = {
  code: "method_not_allowed",
  message: "This server is not a proxy.",
  headers: { allow: METHODS }
}
const unexpected: SurfaceError = { code: "expectation_failed", message: "Only 'Expect: 100-continue' is supported." }

export const layer = (
  options: GatewayOptions
): Layer.Layer<
  GatewayServer,
  ServeError,
  | Relay.RelayRequirements
  | RelayMetrics
  | InFlight
  | TrustedProxies
  | PasswordHasher
  | HttpApi.Api
  | HttpApiBuilder.Router
  | HttpApiBuilder.Middleware
  | HttpRouter.HttpRouter.DefaultServices
> =>
  Layer.scoped(
    GatewayServer,
    Effect.gen(function* () {
      const inFlight = yield* InFlight
      const proxies = yield* TrustedProxies
      const clock = yield* Effect.clock
      const ids = new RequestIds(() => clock.unsafeCurrentTimeMillis())
      const headers = new CommonHeaders(options)
      const writeStallMillis = options.writeStallSeconds * 1000
      const relay = yield* Relay.make(
        {
          keepaliveMillis: options.keepaliveSeconds * 1000,
          writeStallMillis,
          tickMillis: options.tickMillis,
          limits: options,
          responseBytes: options.responseBytes,
          providerBytes: options.providerBytes
        },
        headers,
        inFlight
      )
      const starts = new RequestStarts()
      const hashingRefusal = yield* HashingRefusals.make
      const api = yield* ApiListener.make({ writeStallMillis }, headers, inFlight)
      const runFork = Runtime.runFork(yield* Effect.runtime<never>())
      const alarm = (requestId: RequestId, defect: unknown) => runFork(logDefect(requestId, Cause.die(defect)))
      const routes = new Map(relayRoutes().map((route) => [route.path, route]))

      const write = (
        request: IncomingMessage,
        response: ServerResponse,
        requestId: RequestId,
        refusal: WireErrorBody,
        discardedBytes: number
      ) =>
        writeRefusal(request, response, refusal, {
          writeHead: (own) => response.writeHead(refusal.status, headers.with(requestId, own)),
          discardedBytes
        })
      const refuse = (
        request: IncomingMessage,
        response: ServerResponse,
        requestId: RequestId,
        error: SurfaceError
      ) => {
        response.shouldKeepAlive = false
        write(
          request,
          response,
          requestId,
          surfaceErrorBody(error, pathOf(originForm(request.url ?? "/")), requestId),
          ANY_LENGTH
        )
      }
      const dispatch = (
        request: IncomingMessage,
        response: ServerResponse,
        requestId: RequestId,
        continues: boolean
      ) => {
        const target = originForm(request.url ?? "/")
        const error = headError(request)
        if (error !== undefined) {
          refuse(request, response, requestId, error)
          return
        }
        // Node.js drops bytes that arrive together with an upgrade request, so a later request of the connection could
        // not be parsed.
        if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
        if (inFlight.refusing && !PROBES.has(pathOf(target))) {
          refuse(request, response, requestId, drainingError)
          return
        }
        if (inFlight.draining) response.shouldKeepAlive = false
        const route = request.method === "POST" ? (routes.get(target) ?? routes.get(pathOf(target))) : undefined
        if (route !== undefined) {
          relay.serve(request, response, requestId, route)
        } else if (request.method === "OPTIONS" && options.corsAllowOrigin !== undefined) {
          respondToPreflight(request, response, headers, requestId)
          limitDiscarding(request)
        } else {
          request.url = routerTarget(target)
          const refusal = hashingRefusal(request, pathOf(request.url), requestId)
          if (refusal !== undefined) {
            write(request, response, requestId, refusal, MAX_BODY_BYTES)
            return
          }
          if (continues) expectContinue(request, response)
          if (PROBES.has(pathOf(target))) api.serve(request, response, requestId)
          else startInTurn(request, response, requestId)
        }
      }
      const partyOf = (request: IncomingMessage): Party => {
        const { authorization = request.headers["x-api-key"] } = request.headers
        return typeof authorization === "string"
          ? { name: authorization.slice(-PARTY_NAME_LENGTH), isAuthorized: true }
          : { name: clientAddressOf(request, proxies), isAuthorized: false }
      }
      const startInTurn = (request: IncomingMessage, response: ServerResponse, requestId: RequestId) => {
        const isAdded = starts.add(partyOf(request), () => {
          guarded(response, requestId, () => {
            if (!response.destroyed) api.serve(request, response, requestId)
          })
          inFlight.ended()
        })
        if (isAdded) inFlight.started()
        else refuse(request, response, requestId, overloadedError)
      }

      const guarded = (response: ServerResponse, requestId: RequestId, step: () => void) => {
        try {
          step()
        } catch (defect) {
          // An uncaught exception in an event listener would end the process and therefore all other requests.
          alarm(requestId, defect)
          response.destroy()
        }
      }
      const onRequest = (request: IncomingMessage, response: ServerResponse, continues: boolean) => {
        // The connection is closing or closed, so this request cannot get a response.
        if (!request.socket.writable) return
        if (isBehindOthers(response)) {
          serveInTurn(request, response, () => onRequest(request, response, continues))
          return
        }
        const requestId = ids.next()
        guarded(response, requestId, () => dispatch(request, response, requestId, continues))
      }

      const nodeServer = NodeServer.create(options)
      const { server } = nodeServer
      server.on("request", (request, response) => onRequest(request, response, false))
      // Node.js emits this event for `Expect: 100-continue`. The relay itself sends `100 Continue`, after it has
      // checked the API key.
      server.on("checkContinue", (request, response) => onRequest(request, response, true))
      server.on("checkExpectation", (request, response) => refuse(request, response, ids.next(), unexpected))
      server.on("connect", (_, socket) => refuseConnection(socket, noProxy, headers, ids.next()))
      server.on("clientError", (error, socket) => respondToConnectionError(error, socket, headers, ids.next()))

      yield* Effect.addFinalizer(() => {
        const handlers = {
          running: () => relay.running() + api.running(),
          cutAll: () => {
            relay.cutAll()
            api.cutAll()
          }
        }
        return drain(nodeServer, inFlight, handlers, {
          grace: Duration.seconds(options.drainSeconds),
          delay: Duration.seconds(options.drainDelaySeconds)
        })
      })
      const { address, port } = yield* NodeServer.listen(server, options)
      return { host: address, port }
    })
  )
