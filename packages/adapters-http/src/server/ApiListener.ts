/**
 * Serves the requests to the HttpApi, which are the requests that neither the relay nor `GatewayServer.ts` handles.
 * Effect's router dispatches these requests to their handlers.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Etag from "@effect/platform/Etag"
import * as FileSystem from "@effect/platform/FileSystem"
import type * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type { Default as HttpApp } from "@effect/platform/HttpApp"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpPlatform from "@effect/platform/HttpPlatform"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as Path from "@effect/platform/Path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import { constTrue } from "effect/Function"
import * as Layer from "effect/Layer"
import type { CommonHeaders } from "../http/CommonHeaders.ts"
import type { InFlightRequests } from "../http/InFlight.ts"
import { only } from "../http/RouteServices.ts"
import { limitDiscarding } from "../http/UnreadBody.ts"

export interface ApiListener {
  readonly serve: (request: IncomingMessage, response: ServerResponse, requestId: RequestId) => void
  /** Returns the number of requests whose handling is not finished. */
  readonly running: () => number
  readonly cutAll: () => void
}

export interface ApiListenerOptions {
  /** Milliseconds after which a client that does not read the end of a response is disconnected. */
  readonly writeStallMillis: number
}

/**
 * The router compares paths exactly, except that it unescapes them. `Fallbacks.ts` refuses escaped names of routes. A
 * parameter has any length, because the route responds to an unknown id with its own error. Node.js limits the path.
 */
const ROUTER = {
  maxParamLength: Number.MAX_SAFE_INTEGER,
  caseSensitive: true,
  ignoreDuplicateSlashes: false,
  ignoreTrailingSlash: false
}

/**
 * The services that the context of each request contains at its start. `@effect/platform` uses them, for example to
 * send a file.
 */
const platformServices = [HttpPlatform.HttpPlatform, Etag.Generator, FileSystem.FileSystem, Path.Path]

export const make = (
  options: ApiListenerOptions,
  headers: CommonHeaders,
  inFlight: InFlightRequests
): Effect.Effect<
  ApiListener,
  never,
  HttpApi.Api | HttpApiBuilder.Router | HttpApiBuilder.Middleware | HttpRouter.HttpRouter.DefaultServices
> =>
  Effect.gen(function* () {
    const app = yield* HttpRouter.withRouterConfig(HttpApiBuilder.httpApp, ROUTER)
    const running = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
    // Effect's Node.js adapter runs each request in a fiber without a parent. The count of `inFlight` lets the shutdown
    // wait for these fibers, and this set lets the shutdown interrupt them.
    const tracked = <E, R>(sent: HttpApp<E, R>): HttpApp<E, R> =>
      Effect.withFiberRuntime((fiber) => {
        running.add(fiber)
        inFlight.started()
        return Effect.ensuring(
          sent,
          Effect.sync(() => {
            running.delete(fiber)
            inFlight.ended()
          })
        )
      })
    const handler = yield* NodeHttpServer.makeHandler(app, tracked).pipe(
      Effect.locallyWith(FiberRef.currentContext, only(platformServices)),
      // No tracer reads spans of these requests.
      Effect.locally(HttpMiddleware.currentTracerDisabledWhen, constTrue),
      Effect.withTracerEnabled(false)
    )
    return {
      serve: (request, response, requestId) => {
        headers.presetOn(response, requestId)
        if (inFlight.draining) response.shouldKeepAlive = false
        inFlight.started()
        response.on("prefinish", () => {
          response.socket?.setTimeout(options.writeStallMillis)
          limitDiscarding(request)
        })
        response.on("close", () => inFlight.ended())
        callBackAtClose(response)
        handler(request, response)
      },
      running: () => running.size,
      cutAll: () => {
        for (const fiber of running) fiber.unsafeInterruptAsFork(FiberId.none)
      }
    }
  })

type End = (...given: ReadonlyArray<unknown>) => ServerResponse

/**
 * Makes Node.js call the callback of `end` at the latest when the response is closed. Without this, Node.js never calls
 * it if the socket was ended or destroyed before `end`. The fiber of the request waits for this callback, and cannot be
 * interrupted meanwhile.
 */
const callBackAtClose = (response: ServerResponse): void => {
  const end = response.end.bind(response) as End
  const endWithCallback: End = (...given) => {
    const callback = given.find((each) => typeof each === "function") as (() => void) | undefined
    if (callback !== undefined && response.closed) queueMicrotask(callback)
    else if (callback !== undefined) response.once("close", callback)
    return end(...given)
  }
  response.end = endWithCallback as ServerResponse["end"]
}

/**
 * Provides the router and the middleware registry that all route groups share, and the platform services that handlers
 * use.
 */
export const layerContext = Layer.mergeAll(
  HttpApiBuilder.Router.Live,
  HttpApiBuilder.Middleware.layer,
  NodeHttpServer.layerContext
)
