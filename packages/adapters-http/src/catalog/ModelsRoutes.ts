/**
 * The model catalog, served from the snapshot in this process.
 *
 * Public names may hold slashes, and not every client escapes them: what follows `/v1/models/` is the name.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import type { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { discoverable } from "@tollgate/domain/catalog/Catalog"
import { ModelNotFound } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { caller } from "../auth/PresentedKey.ts"
import { requestIdOf } from "../http/RequestIds.ts"
import { pathOf } from "../http/RequestPath.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { errorBody, type RelayError } from "../wire/InferenceErrors.ts"
import { ModelsApi } from "./ModelsApi.ts"

const PREFIX = "/v1/models/"

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A failure in the one body of the inference routes. */
const orRefuse = <R>(answer: Effect.Effect<unknown, RelayError, R>) =>
  Effect.matchEffect(answer, {
    onSuccess: (body) => Effect.orDie(HttpServerResponse.json(body)),
    onFailure: (error) =>
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
        const { status, headers, body } = errorBody(error, requestIdOf(request), "openai")
        return HttpServerResponse.text(body, { status, headers, contentType: "application/json" })
      })
  })

const listModels = orRefuse(
  Effect.gen(function* () {
    yield* caller
    const models = discoverable((yield* CurrentCatalog).get())
    return { object: "list", data: models.map(({ publicName }) => ({ id: publicName, object: "model" })) }
  })
)

const getModel = orRefuse(
  Effect.gen(function* () {
    yield* caller
    const { originalUrl } = yield* HttpServerRequest.HttpServerRequest
    const name = unescaped(pathOf(originalUrl).slice(PREFIX.length))
    const model = (yield* CurrentCatalog).get().models.get(name)
    if (model === undefined || model.hidden || model.retired) return yield* new ModelNotFound({ model: name })
    return { id: model.publicName, object: "model" }
  })
)

const group = HttpApiBuilder.group(gateway.add(ModelsApi), "models", (handlers) =>
  handlers.handleRaw("listModels", () => listModels).handleRaw("getModel", () => getModel)
)

const unescapedNames = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const services = yield* Effect.context<ApiKeyAuthenticator | CurrentCatalog>()
    yield* router.get(`${PREFIX}*`, Effect.provide(getModel, services))
  })
)

export const layer = Layer.merge(group, unescapedNames)
