/**
 * Lists the models that the API key of the request can call, and reads one model by its public name
 * (docs/reference/inference.md#model-2). The responses are built from the catalog in memory.
 *
 * Some clients do not escape the slashes in a public name. Therefore the whole path after `/v1/models/` is used as the
 * public name.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as OpenApi from "@effect/platform/OpenApi"
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { discoverable, known } from "@tollgate/domain/catalog/Catalog"
import { allowsModel } from "@tollgate/domain/customer/KeyLimits"
import { ModelNotFound } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { caller } from "../auth/PresentedKey.ts"
import { inferenceResponse } from "../http/ApiResponse.ts"
import { withOnly } from "../http/RouteServices.ts"
import { pathOf } from "../http/SurfaceError.ts"
import { gateway, requiresApiKey } from "../openapi/GatewayDocument.ts"
import { refusal } from "../openapi/InferenceDocs.ts"

const ModelEntry = Schema.Struct({
  id: Schema.String.annotations({ description: "The public name; send it as `model` in a request." }),
  object: Schema.Literal("model")
}).annotations({ identifier: "Model", examples: [{ id: "demo-chat", object: "model" }] })

const ModelList = Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(ModelEntry) }).annotations({
  identifier: "ModelList"
})

const readModels = HttpApiEndpoint.get("listModels", "/v1/models")
  .addSuccess(ModelList)
  .addError(refusal(401, "invalid_api_key"))
  .addError(refusal(503, "overloaded"))
  .annotateContext(
    OpenApi.annotations({
      summary: "List the available models",
      description:
        "Models are ordered by the discovery rank that the operator sets, highest first, then by public name.",
      override: requiresApiKey
    })
  )

const readModel = HttpApiEndpoint.get("getModel", "/v1/models/:model")
  .setPath(Schema.Struct({ model: Schema.String }))
  .addSuccess(ModelEntry)
  .addError(refusal(401, "invalid_api_key"))
  .addError(refusal(404, "model_not_found"))
  .addError(refusal(503, "overloaded"))
  .annotateContext(OpenApi.annotations({ summary: "Read one model by its public name", override: requiresApiKey }))

export class ModelsApi extends HttpApiGroup.make("models")
  .add(readModels)
  .add(readModel)
  .annotateContext(
    OpenApi.annotations({
      title: "Models",
      description: "The models that can be called."
    })
  ) {}

const PREFIX = "/v1/models/"
/** The path of a model whose public name contains slashes. */
export const UNESCAPED_PATH = `${PREFIX}*` as const

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const listModels = inferenceResponse(
  Effect.gen(function* () {
    const { limits } = yield* caller
    const models = discoverable((yield* CurrentCatalog).get()).filter(({ publicName }) =>
      allowsModel(limits, publicName)
    )
    return { object: "list", data: models.map(({ publicName }) => ({ id: publicName, object: "model" })) }
  })
)

const getModel = inferenceResponse(
  Effect.gen(function* () {
    const { limits } = yield* caller
    const { originalUrl } = yield* HttpServerRequest.HttpServerRequest
    const name = unescaped(pathOf(originalUrl).slice(PREFIX.length))
    if (!allowsModel(limits, name)) return yield* new ModelNotFound({ model: name })
    const { publicName } = yield* known((yield* CurrentCatalog).get(), name)
    return { id: publicName, object: "model" }
  })
)

const group = HttpApiBuilder.group(gateway.add(ModelsApi), "models", (handlers) =>
  handlers.handleRaw("listModels", () => listModels).handleRaw("getModel", () => getModel)
)

const unescapedNames = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const services = yield* Effect.context<ApiKeyAuthenticator | CurrentCatalog>()
    yield* router.get(UNESCAPED_PATH, Effect.provide(getModel, services))
  })
)

export const layer = Layer.merge(group, unescapedNames).pipe(withOnly(ApiKeyAuthenticator, CurrentCatalog))
