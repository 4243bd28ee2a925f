/**
 * Builds responses of routes that Effect's router serves: a JSON body, or an error in the error format of the called
 * API.
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { errorBody, type RelayError } from "../wire/InferenceErrors.ts"
import { type ResellerFailure, resellerErrorBody } from "../wire/ResellerErrors.ts"
import { refusalResponse } from "./Refusal.ts"
import { requestIdOf } from "./RequestIds.ts"
import { pathOf, type SurfaceError, surfaceErrorBody } from "./SurfaceError.ts"

type Response<R> = Effect.Effect<HttpServerResponse.HttpServerResponse, never, R | HttpServerRequest.HttpServerRequest>

/** Returns the result of `body` as JSON, or an inference error in OpenAI's format. */
export const inferenceResponse = <R>(body: Effect.Effect<unknown, RelayError, R>): Response<R> =>
  orInferenceError(Effect.flatMap(body, (value) => Effect.orDie(HttpServerResponse.json(value))))

/** Returns the given response, or an inference error in OpenAI's format. */
export const orInferenceError = <R>(
  response: Effect.Effect<HttpServerResponse.HttpServerResponse, RelayError, R>
): Response<R> =>
  Effect.catchAll(response, (error) =>
    Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
      refusalResponse(errorBody(error, requestIdOf(request), "openai"))
    )
  )

/** Returns the result of `body` as JSON, or an error in the format of the reseller routes. */
export const resellerResponse = <A, E extends ResellerFailure, R>(
  body: Effect.Effect<A, E, R>,
  status: 200 | 201 = 200
): Response<R> =>
  orResellerError(Effect.flatMap(body, (value) => Effect.orDie(HttpServerResponse.json(value, { status }))))

/** Returns the given response, or an error in the format of the reseller routes. */
export const orResellerError = <E extends ResellerFailure, R>(
  response: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Response<R> =>
  Effect.catchAll(response, (error) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const { status, headers, body } = resellerErrorBody(error, requestIdOf(request))
      return Effect.succeed(refusalResponse({ status, headers, body: JSON.stringify(body) }))
    })
  )

/** Returns a `SurfaceError` as a response, in the error format that `path` selects (by default the requested path). */
export const surfaceErrorResponse = (error: SurfaceError, path?: string): Response<never> =>
  Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
    refusalResponse(surfaceErrorBody(error, path ?? pathOf(request.originalUrl), requestIdOf(request)))
  )
