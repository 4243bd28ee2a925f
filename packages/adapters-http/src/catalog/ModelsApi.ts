/**
 * The model catalog as callers see it (spec: Model catalog).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { requiresApiKey } from "../openapi/GatewayDocument.ts"
import { refusal } from "../openapi/InferenceDocs.ts"

export const ModelEntry = Schema.Struct({
  id: Schema.String.annotations({ description: "The public name: what `model` is set to in a request." }),
  object: Schema.Literal("model")
}).annotations({ identifier: "Model", examples: [{ id: "gpt-5-mini", object: "model" }] })

export const ModelList = Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(ModelEntry) }).annotations({
  identifier: "ModelList"
})

const listModels = HttpApiEndpoint.get("listModels", "/v1/models")
  .addSuccess(ModelList)
  .addError(refusal(401, "invalid_api_key"))
  .addError(refusal(503, "overloaded"))
  .annotateContext(
    OpenApi.annotations({
      summary: "List the models that can be called",
      description: "Higher discovery rank first, then alphabetically by public name.",
      override: requiresApiKey
    })
  )

const getModel = HttpApiEndpoint.get("getModel", "/v1/models/:model")
  .setPath(Schema.Struct({ model: Schema.String }))
  .addSuccess(ModelEntry)
  .addError(refusal(401, "invalid_api_key"))
  .addError(refusal(404, "model_not_found"))
  .addError(refusal(503, "overloaded"))
  .annotateContext(OpenApi.annotations({ summary: "One model by its public name", override: requiresApiKey }))

export class ModelsApi extends HttpApiGroup.make("models").add(listModels).add(getModel) {}
