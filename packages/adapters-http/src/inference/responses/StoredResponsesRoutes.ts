/**
 * These routes serve the requests to fetch, cancel or delete a stored response, or to list its input items. Responses
 * are not stored, so an authenticated request gets a 404 with a message that explains what to send instead.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import * as Effect from "effect/Effect"
import { caller } from "../../auth/PresentedKey.ts"
import { refusalResponse } from "../../http/Refusal.ts"
import { requestIdOf } from "../../http/RequestIds.ts"
import { withOnly } from "../../http/RouteServices.ts"
import { pathOf, type SurfaceError, surfaceErrorBody } from "../../http/SurfaceError.ts"
import { errorBody, type RelayError } from "../../wire/InferenceErrors.ts"

const notStored: SurfaceError = {
  code: "not_found",
  message:
    "This service does not store responses, so there is no response with this id. Send the whole conversation in 'input'."
}

const refusal = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  yield* caller
  return refusalResponse(surfaceErrorBody(notStored, pathOf(request.originalUrl), requestIdOf(request)))
}).pipe(
  Effect.catchAll((error: RelayError) =>
    Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
      refusalResponse(errorBody(error, requestIdOf(request), "openai"))
    )
  )
)

const RESPONSE = "/v1/responses/:id"
const CANCEL = `${RESPONSE}/cancel` as const
const INPUT_ITEMS = `${RESPONSE}/input_items` as const

/** The routes that {@link layer} adds. */
export const routes = [
  { method: "GET", path: RESPONSE },
  { method: "DELETE", path: RESPONSE },
  { method: "POST", path: CANCEL },
  { method: "GET", path: INPUT_ITEMS }
]

export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const authenticator = yield* Effect.context<ApiKeyAuthenticator>()
    const notFound = Effect.provide(refusal, authenticator)
    yield* router.get(RESPONSE, notFound)
    yield* router.del(RESPONSE, notFound)
    yield* router.post(CANCEL, notFound)
    yield* router.get(INPUT_ITEMS, notFound)
  })
).pipe(withOnly(ApiKeyAuthenticator))
