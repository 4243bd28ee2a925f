/**
 * What becomes of the requests no handler answered: a route that does not exist, a body that cannot be read, a
 * defect. None of them may leave without a body that says what to do.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpApiError from "@effect/platform/HttpApiError"
import type * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import { requestIdOf } from "../http/RequestIds.ts"
import { pathOf } from "../http/RequestPath.ts"
import { internalError, type SurfaceError, statusOf, surfaceErrorBody } from "../http/SurfaceError.ts"
import { type KnownRoute, meantPath, methodsOf, notFoundMessage } from "./RouteHint.ts"

const isReseller = (path: string): boolean => path.startsWith("/api/reseller")

/** Where a decoding went wrong, in the words of the surface that was called. */
const unreadable = (path: string, issues: HttpApiError.HttpApiDecodeError["issues"]): SurfaceError => {
  const details = issues.map((issue) => ({ path: issue.path.map(String).join("."), message: issue.message }))
  const first = details[0]
  const message =
    first === undefined || first.path === "" ? "The request is malformed." : `${first.path}: ${first.message}`
  return isReseller(path) ? { code: "validation_error", message, details } : { code: "invalid_request", message }
}

const lost = (routes: ReadonlyArray<KnownRoute>, method: string, path: string) => {
  const methods = methodsOf(routes, path)
  // A path of ours with the right method gets lost only when it cannot be unescaped.
  if (methods.length === 0 || methods.includes(method)) {
    const meant = meantPath(routes, path)
    return respond({ code: "not_found", message: notFoundMessage(method, path, meant) }, meant)
  }
  const allow = methods.join(", ")
  return respond({ code: "method_not_allowed", message: `${path} answers to ${allow} only.`, headers: { allow } })
}

const routesOf = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>
): ReadonlyArray<KnownRoute> => {
  const routes: Array<KnownRoute> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      routes.push({ method: endpoint.method, path: endpoint.path })
    }
  })
  return routes
}

/** In the form that is read at this path: the request's own unless given. */
const respond = (error: SurfaceError, path?: string) =>
  Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
    const body = surfaceErrorBody(error, path ?? pathOf(request.originalUrl), requestIdOf(request))
    const headers = error.headers ?? {}
    return HttpServerResponse.text(body, { status: statusOf(error), contentType: "application/json", headers })
  })

/** For every route of the API, and for the paths that are none. */
export const layer = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>,
  more: ReadonlyArray<KnownRoute>
): Layer.Layer<never> => {
  const routes = [...routesOf(api), ...more]
  return HttpApiBuilder.middleware((app) =>
    Effect.catchAllCause(app, (cause) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause)
        const path = pathOf(request.originalUrl)
        const error: unknown = Cause.squash(cause)
        if (Predicate.isTagged(error, "RouteNotFound")) return lost(routes, request.method, path)
        if (Predicate.isTagged(error, "HttpApiDecodeError")) {
          return respond(unreadable(path, (error as HttpApiError.HttpApiDecodeError).issues))
        }
        if (Predicate.isTagged(error, "RequestError")) return respond(unreadable(path, []))
        if (!Cause.isDie(cause)) return Effect.failCause(cause)
        return Effect.zipRight(
          Effect.logError("a request failed by a fault of ours", { request_id: requestIdOf(request) }, cause),
          respond(internalError)
        )
      })
    )
  )
}
