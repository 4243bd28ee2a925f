/**
 * Defines errors that belong to no single route, such as an unknown route, a wrong method, a server that shuts down, or
 * an internal error. The request path selects the format of the error body. Paths under /v1 have the error body of the
 * inference routes (docs/reference/errors.md#a6), and all other paths have the plain error body
 * (docs/reference/errors.md#a5).
 */
import type { ErrorDialect, WireErrorBody } from "../wire/InferenceErrors.ts"
import { retryAfter } from "../wire/RetryAfter.ts"

export type SurfaceErrorCode =
  | "invalid_request"
  | "not_found"
  | "method_not_allowed"
  | "request_timeout"
  | "expectation_failed"
  | "headers_too_large"
  | "validation_error"
  | "internal_error"
  | "overloaded"

export interface SurfaceError {
  readonly code: SurfaceErrorCode
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
  readonly details?: ReadonlyArray<{ readonly path: string; readonly message: string }>
}

interface Row {
  readonly status: number
  readonly type: { readonly [Dialect in ErrorDialect]: string }
}

const invalid = { openai: "invalid_request_error", anthropic: "invalid_request_error" }

const rows: { readonly [Code in SurfaceErrorCode]: Row } = {
  invalid_request: { status: 400, type: invalid },
  not_found: { status: 404, type: { openai: "invalid_request_error", anthropic: "not_found_error" } },
  method_not_allowed: { status: 405, type: invalid },
  request_timeout: { status: 408, type: invalid },
  expectation_failed: { status: 417, type: invalid },
  validation_error: { status: 422, type: invalid },
  headers_too_large: { status: 431, type: invalid },
  internal_error: { status: 500, type: { openai: "server_error", anthropic: "api_error" } },
  overloaded: { status: 503, type: { openai: "server_error", anthropic: "overloaded_error" } }
}

export const statusOf = (error: SurfaceError): number => rows[error.code].status

export const isInferencePath = (path: string): boolean => path === "/v1" || path.startsWith("/v1/")

export const dialectOf = (path: string): ErrorDialect => (path.startsWith("/v1/messages") ? "anthropic" : "openai")

export const surfaceErrorBody = (error: SurfaceError, path: string, requestId: string): WireErrorBody => ({
  status: statusOf(error),
  headers: error.headers ?? {},
  body: JSON.stringify(
    isInferencePath(path) ? inferenceEnvelope(error, path, requestId) : plainEnvelope(error, requestId)
  )
})

const inferenceEnvelope = ({ code, message }: SurfaceError, path: string, requestId: string): object => ({
  type: "error",
  error: { type: rows[code].type[dialectOf(path)], code, message, param: null, details: { error_code: code } },
  request_id: requestId
})

const plainEnvelope = ({ code, message, details }: SurfaceError, requestId: string): object => ({
  error: { code, message, request_id: requestId, ...(details === undefined ? {} : { details }) }
})

export const internalError: SurfaceError = {
  code: "internal_error",
  message: "An internal error occurred. Try again. If the error occurs again, report the request id."
}

export const drainingError: SurfaceError = {
  code: "overloaded",
  message: "This server is shutting down. Try again.",
  headers: retryAfter({ retryAfterSeconds: 1 })
}

export const unavailableError: SurfaceError = {
  code: "overloaded",
  message: "The service is temporarily unavailable. Try again; repeat a write with the same operation id.",
  headers: retryAfter({ retryAfterSeconds: 1 })
}

export const overloadedError: SurfaceError = {
  code: "overloaded",
  message: "Too many requests of this client are waiting. Try again.",
  headers: retryAfter({ retryAfterSeconds: 1 })
}

const split = (target: string): { readonly path: string; readonly query: string } => {
  const at = target.indexOf("?")
  return at < 0 ? { path: target, query: "" } : { path: target.slice(0, at), query: target.slice(at) }
}

const trimmed = (path: string): string => (path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path)

/**
 * Returns the path of a request target in the form that is compared with routes: without the query and without one
 * trailing slash.
 */
export const pathOf = (target: string): string => trimmed(split(target).path)

/**
 * Returns a request target for the router of `@effect/platform`: without one trailing slash of the path. The router
 * would end the path at a `;` or `#`, so these characters are escaped. The query is kept.
 */
export const routerTarget = (target: string): string => {
  const { path, query } = split(target)
  return trimmed(path).replaceAll(";", "%3B").replaceAll("#", "%23") + query
}
