/**
 * Writes the error responses that no handler of the HttpApi writes: for an unknown route, a wrong method, an unreadable
 * request, or a defect (an unexpected exception, or an unavailable database). The body has the error format of the
 * called API (inference routes or other routes). A browser gets a page instead of this body for an unknown route or a
 * defect (docs/reference/console.md#w8).
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpApiError from "@effect/platform/HttpApiError"
import type * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import type * as HttpApp from "@effect/platform/HttpApp"
import { RouteNotFound } from "@effect/platform/HttpServerError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import { surfaceErrorResponse } from "../http/ApiResponse.ts"
import { isDatabaseUnavailable, logDefect } from "../http/Defects.ts"
import { requestIdOf } from "../http/RequestIds.ts"
import { ServiceTitle } from "../http/ServiceTitle.ts"
import { internalError, pathOf, type SurfaceError, unavailableError } from "../http/SurfaceError.ts"
import { errorPage } from "../pages/ErrorPage.ts"
import { wantsPage } from "../pages/Visitor.ts"
import { issueText } from "../wire/SharedErrorRows.ts"
import { intendedPath, isServed, type KnownRoute, methodsOf, notFoundMessage } from "./RouteHint.ts"

/** The reseller and operator routes report a request that cannot be decoded as `validation_error`. */
const reportsValidation = (path: string): boolean =>
  path.startsWith("/api/reseller") || path.startsWith("/api/operator")

/** Converts a decoding error to an error of the API to which `path` belongs. */
const undecodable = (path: string, issues: HttpApiError.HttpApiDecodeError["issues"]): SurfaceError => {
  const details = issues.map((issue) => ({ path: issue.path.map(String).join("."), message: issue.message }))
  const first = details[0]
  const message = first === undefined || first.path === "" ? "The request is malformed." : `${issueText(first)}.`
  return reportsValidation(path) ? { code: "validation_error", message, details } : { code: "invalid_request", message }
}

const noSuchRoute = (routes: ReadonlyArray<KnownRoute>, method: string, path: string) => {
  const methods = methodsOf(routes, path)
  // If the path and the method are known, the router has found no route because it cannot unescape the path.
  if (methods.length === 0 || methods.includes(method)) {
    const intended = intendedPath(routes, path)
    return surfaceErrorResponse({ code: "not_found", message: notFoundMessage(method, path, intended) }, intended)
  }
  const allow = methods.join(", ")
  return surfaceErrorResponse({
    code: "method_not_allowed",
    message: `${path} accepts only ${allow}.`,
    headers: { allow }
  })
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

/**
 * Converts errors to responses if no handler has done so, and refuses a path that no route has exactly. `more` lists
 * routes that `api` does not declare. `hidden` lists further routes, which no error message names.
 */
export const layer = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>,
  more: ReadonlyArray<KnownRoute>,
  hidden: ReadonlyArray<KnownRoute>
): Layer.Layer<never> => {
  const routes = [...routesOf(api), ...more]
  const served = [...routes, ...hidden]
  const exactly = (app: HttpApp.Default): HttpApp.Default =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      isServed(served, request.method, pathOf(request.originalUrl)) ? app : Effect.die(new RouteNotFound({ request }))
    )
  const respond = (service: string) => (app: HttpApp.Default) =>
    Effect.catchAllCause(exactly(app), (cause) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause)
        const path = pathOf(request.originalUrl)
        const error: unknown = Cause.squash(cause)
        if (Predicate.isTagged(error, "RouteNotFound")) {
          const isUnknown = methodsOf(routes, path).length === 0
          return isUnknown && wantsPage(request)
            ? Effect.succeed(errorPage(request, service, "not_found"))
            : noSuchRoute(routes, request.method, path)
        }
        if (Predicate.isTagged(error, "HttpApiDecodeError")) {
          return surfaceErrorResponse(undecodable(path, (error as HttpApiError.HttpApiDecodeError).issues))
        }
        if (Predicate.isTagged(error, "RequestError")) return surfaceErrorResponse(undecodable(path, []))
        const log = logDefect(requestIdOf(request), cause)
        const pageOr = (code: "overloaded" | "internal_error", error: SurfaceError) =>
          wantsPage(request) ? Effect.succeed(errorPage(request, service, code)) : surfaceErrorResponse(error)
        if (isDatabaseUnavailable(cause)) return Effect.zipRight(log, pageOr("overloaded", unavailableError))
        if (!Cause.isDie(cause)) return Effect.failCause(cause)
        return Effect.zipRight(log, pageOr("internal_error", internalError))
      })
    )
  return HttpApiBuilder.middleware(Effect.map(ServiceTitle, respond))
}
