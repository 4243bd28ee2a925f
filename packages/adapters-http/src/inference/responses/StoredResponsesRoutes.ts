/**
 * The routes of stored responses. Responses are not stored, so fetching, cancelling and deleting one is refused with
 * 404 and a message that says what to do instead.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import type { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import * as Effect from "effect/Effect"
import { caller } from "../../auth/PresentedKey.ts"
import { refusalResponse } from "../../http/Refusal.ts"
import { requestIdOf } from "../../http/RequestIds.ts"
import { pathOf, type SurfaceError, surfaceErrorBody } from "../../http/SurfaceError.ts"
import { errorBody, type RelayError } from "../../wire/InferenceErrors.ts"

const notStored: SurfaceError = {
  code: "not_found",
  message:
    "Responses are not stored by this service, so no response has this id. Send the whole conversation in 'input'."
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

export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const authenticator = yield* Effect.context<ApiKeyAuthenticator>()
    const notFound = Effect.provide(refusal, authenticator)
    yield* router.get("/v1/responses/:id", notFound)
    yield* router.del("/v1/responses/:id", notFound)
    yield* router.post("/v1/responses/:id/cancel", notFound)
    yield* router.get("/v1/responses/:id/input_items", notFound)
  })
)
